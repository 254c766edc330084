import * as huggingface from '@huggingface/tokenizers'
import type { TokenizerFiles } from './tokenizer-json.ts'

/** What is used of @huggingface/tokenizers' Tokenizer. */
export interface Codec {
  /** Token ids; special tokens (<s>, [CLS] ...) are added unless declined. */
  encode(text: string, options?: { readonly add_special_tokens?: boolean }): { readonly ids: number[] }
  /** Text of at least one id. */
  decode(ids: readonly number[], options?: { readonly skip_special_tokens?: boolean }): string
}

/** The package's own declarations import without file extensions, which this module resolution does not follow: stated here. */
const reader: { readonly Tokenizer: new (tokenizer: object, config: object) => Codec } = huggingface

/** A working tokenizer of the two objects. @throws the package's, for a tokenizer that it does not read. */
export function openTokenizer({ tokenizer, config }: TokenizerFiles): Codec {
  return new reader.Tokenizer(tokenizer, config)
}
