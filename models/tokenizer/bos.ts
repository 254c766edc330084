import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { tokenText } from './token-text.ts'
import { tokenId, type TokenizerFiles } from './tokenizer-json.ts'

/** Post-processors of tokenizer.json that add tokens before a text. */
const TemplateSchema = Type.Object({
  type: Type.Literal('TemplateProcessing'),
  single: Type.Array(Type.Object({ SpecialToken: Type.Optional(Type.Object({ id: Type.String() })) })),
  special_tokens: Type.Record(Type.String(), Type.Object({ ids: Type.Array(Type.Integer({ minimum: 0 })) })),
})
const ClassifierSchema = Type.Object({
  type: Type.Union([Type.Literal('RobertaProcessing'), Type.Literal('BertProcessing')]),
  cls: Type.Tuple([Type.String(), Type.Integer({ minimum: 0 })]),
})
const SequenceSchema = Type.Object({ type: Type.Literal('Sequence'), processors: Type.Array(Type.Unknown()) })

/** Tokenizer classes of transformers that add BOS by default. */
const PUTS_BOS = /^(Code)?LlamaTokenizer(Fast)?$/

/**
 * The id that the model's own tokenizer adds before a text, or null for none: from `add_bos_token` of tokenizer_config.json, if set; else
 * as transformers' LLaMA tokenizers do, or the post-processor of tokenizer.json.
 * @param configured bos_token_id of config.json: the BOS token if tokenizer_config.json names none
 */
export function frontToken({ tokenizer, config }: TokenizerFiles, configured: number | null): number | null {
  const inFront = processedFront(tokenizer.post_processor)
  const { add_bos_token: adds, tokenizer_class: kind } = config
  const bos = tokenText(config['bos_token'])
  if (adds === false) return null
  if (adds === true || (typeof kind === 'string' && PUTS_BOS.test(kind)))
    return inFront ?? (bos === undefined ? undefined : tokenId(tokenizer, bos)) ?? configured
  return inFront
}

function processedFront(processor: unknown): number | null {
  if (Value.Check(SequenceSchema, processor)) return processor.processors.map(processedFront).reduce((found, next) => found ?? next, null)
  if (Value.Check(ClassifierSchema, processor)) return processor.cls[1]
  if (!Value.Check(TemplateSchema, processor)) return null
  const name = processor.single[0]?.SpecialToken?.id
  return name === undefined ? null : (processor.special_tokens[name]?.ids[0] ?? null)
}

/** Tokens that end an answer in chats and texts of the supported families, whatever a file declares; llama.cpp takes them by name too. */
const ENDS = [
  '<|endoftext|>',
  '<|end_of_text|>',
  '<|im_end|>',
  '<|eot_id|>',
  '<|eom_id|>',
  '<|end|>',
  '<end_of_turn>',
  '<end_of_utterance>',
  '<EOT>',
  '_<EOT>',
  '[EOT]',
  '[EOS]',
  '<eos>',
]

/** The declared ids of end tokens, and those that the tokenizer has by name. */
export function endTokens(declared: readonly number[], files: TokenizerFiles | null): number[] {
  return [...new Set([...declared, ...(files ? ENDS.flatMap((name) => tokenId(files.tokenizer, name) ?? []) : [])])]
}
