import { existsSync } from 'node:fs'
import path from 'node:path'
import { SKIPS } from './skips.ts'
import { root } from './root.ts'

const LLAMA = path.join(root, '../shared/fixtures/llama2-tokenizer')

/** SentencePiece models, each with what SentencePiece itself makes of some texts. */
export const SENTENCEPIECE = [
  { what: "a tokenizer with LLaMA-2's settings", folder: path.join(root, 'test/fixtures/sentencepiece'), skip: false },
  { what: "LLaMA-2's tokenizer", folder: LLAMA, skip: existsSync(LLAMA) ? false : SKIPS.shared },
] as const
