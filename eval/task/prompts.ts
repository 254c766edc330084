import { createHash } from 'node:crypto'
import type { Tokenizer } from '../../src/text/tokenizer.ts'
import type { AskedIds, SettingAnswer } from './contract.ts'
import type { SettingResult } from './record.ts'

/** Hash of the ids of all prompts and contexts: equal where a reader was asked the same. */
export function hashIds({ decoder, encoder }: AskedIds): string {
  const hash = createHash('sha256')
  for (const rows of [decoder, encoder]) {
    hash.update(Uint32Array.of(rows.length))
    for (const ids of rows) hash.update(Uint32Array.from([ids.length, ...ids]))
  }
  return hash.digest('hex')
}

/** A result as it is kept: with the hash of what was asked, and with its text where that is wanted. */
export function keptResult({ asked, ...result }: SettingAnswer, tokenizer: Tokenizer, dumpPrompts: boolean): SettingResult {
  const texts = (rows: AskedIds['decoder']): string[] => rows.map((ids) => tokenizer.decode(ids))
  return {
    ...result,
    prompt_sha256: hashIds(asked),
    ...(dumpPrompts && { prompts: { decoder: texts(asked.decoder), encoder: texts(asked.encoder) } }),
  }
}
