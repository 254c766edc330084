import * as huggingface from '@huggingface/tokenizers'

/** The part of @huggingface/tokenizers' Tokenizer that is used. */
export interface Codec {
  /** Token ids; special tokens (<s>, [CLS] ...) are added unless disabled. */
  encode(text: string, options?: { readonly add_special_tokens?: boolean }): { readonly ids: number[] }
  /** Text of at least one id. */
  decode(
    ids: readonly number[],
    options?: { readonly skip_special_tokens?: boolean; readonly clean_up_tokenization_spaces?: boolean },
  ): string
  get_vocab(withAddedTokens: boolean): Map<string, number>
}

/** The package's declarations import without file extensions, which this module resolution does not support: declared here. */
const reader: { readonly Tokenizer: new (tokenizer: object, config: object) => Codec } = huggingface

/** Opens a tokenizer from the two objects. @throws the package's errors for an unsupported tokenizer */
export function openTokenizer({ tokenizer, config }: { readonly tokenizer: object; readonly config: object }): Codec {
  return new reader.Tokenizer(tokenizer, config)
}
