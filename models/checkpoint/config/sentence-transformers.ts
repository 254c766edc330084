import { join } from 'node:path'
import { Type, type Static } from 'typebox'
import { isObject } from '../../../base/json.ts'
import { invalid, unsupported } from '../../errors.ts'
import { parseAs, readJson } from './json.ts'

/** How a retriever computes the vector of a text, from sentence-transformers' files next to the weights. */
export interface EmbeddingStyle {
  readonly pooling: 'mean' | 'cls'
  /** Vectors have length 1. */
  readonly normalised: boolean
  /** Prefix of questions; empty for none. */
  readonly queryPrompt: string
  /** Prefix of passages; undefined for none, so that ids of models without one stay as they were. */
  readonly passagePrompt?: string | undefined
  /** Maximum tokens of a text, special tokens included, if less than the model's positions. */
  readonly maxTokens: number | null
}

const MODULES = 'modules.json'
const PROMPTS = 'config_sentence_transformers.json'
const ModulesSchema = Type.Array(Type.Object({ path: Type.String(), type: Type.String() }))
const PoolingSchema = Type.Object({
  pooling_mode: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())])),
  include_prompt: Type.Optional(Type.Boolean()),
})
const TextSchema = Type.Object({
  do_lower_case: Type.Optional(Type.Boolean()),
  max_seq_length: Type.Optional(Type.Union([Type.Integer({ minimum: 3 }), Type.Null()])),
})
const PromptsSchema = Type.Object({
  prompts: Type.Optional(Type.Record(Type.String(), Type.Union([Type.String(), Type.Null()]))),
  default_prompt_name: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  similarity_fn_name: Type.Optional(Type.Union([Type.String(), Type.Null()])),
})
/** Names of passage prompts, in encode_document's order; prompts for other purposes, such as clustering, are ignored. */
const PASSAGE_PROMPTS = ['document', 'passage', 'corpus']
/** Before version 6 each kind of pooling had its own field. */
const POOLING_FIELD = /^pooling_mode_(.+?)(_tokens?)?$/

/**
 * Reads modules.json and the files it refers to.
 * @returns undefined for a folder without it
 * @throws checkpoint_invalid for an unreadable file; unsupported for what the graphs do not compute, naming the file
 */
export async function readEmbeddingStyle(dir: string): Promise<EmbeddingStyle | undefined> {
  const listed = await readJson(join(dir, MODULES))
  if (listed === undefined) return undefined
  const modules = parseAs(ModulesSchema, listed, MODULES).map(({ path, type }) => ({ path, kind: type.split('.').at(-1) ?? '' }))
  const kinds = modules.map(({ kind }) => kind)
  if (!['Transformer,Pooling', 'Transformer,Pooling,Normalize'].includes(kinds.join()) || modules[0]?.path !== '')
    throw unsupported(
      `${MODULES} lists ${kinds.join(', ')}; supported are Transformer in the folder itself, Pooling and Normalize`,
      MODULES,
    )
  const { pooling, includesPrompt } = await readPooling(dir, modules[1]?.path ?? '')
  const prompts = await readPrompts(dir)
  if ((prompts.queryPrompt !== '' || prompts.passagePrompt !== undefined) && !includesPrompt)
    throw unsupported('1_Pooling/config.json: include_prompt is false; prompts take part in the pooling here', 'include_prompt')
  const text = parseAs(TextSchema, (await readJson(join(dir, 'sentence_bert_config.json'))) ?? {}, 'sentence_bert_config.json')
  const tokenizer = text.do_lower_case === true ? await readJson(join(dir, 'tokenizer.json')) : undefined
  const { normalizer = null } = isObject(tokenizer) ? tokenizer : {}
  if (tokenizer !== undefined && !/"lowercase":true|"Lowercase"/.test(JSON.stringify(normalizer)))
    throw unsupported(
      'sentence_bert_config.json: do_lower_case is true, and the tokenizer keeps the case; add a normalizer Lowercase to tokenizer.json',
      'do_lower_case',
    )
  return { pooling, normalised: kinds.includes('Normalize'), ...prompts, maxTokens: text.max_seq_length ?? null }
}

async function readPooling(dir: string, folder: string): Promise<{ pooling: EmbeddingStyle['pooling']; includesPrompt: boolean }> {
  const file = '1_Pooling/config.json'
  // A path from a checkpoint is not trusted.
  if (folder !== '1_Pooling') throw unsupported(`${MODULES} has its pooling in ${JSON.stringify(folder)}; supported is 1_Pooling`, MODULES)
  const value = await readJson(join(dir, file))
  if (value === undefined) throw invalid(`${file} is missing, which ${MODULES} names`, file)
  const config: Static<typeof PoolingSchema> = parseAs(PoolingSchema, value, file)
  const ofFields = Object.entries(Object(value) as object).flatMap(([name, on]) =>
    on === true ? (POOLING_FIELD.exec(name)?.[1] ?? []) : [],
  )
  const modes = config.pooling_mode === undefined ? ofFields : [config.pooling_mode].flat()
  const [mode] = modes
  if (modes.length !== 1 || (mode !== 'mean' && mode !== 'cls'))
    throw unsupported(`${file}: the pooling is ${modes.join(' and ') || 'none'}; supported is mean or cls`, 'pooling_mode')
  return { pooling: mode, includesPrompt: config.include_prompt ?? true }
}

async function readPrompts(dir: string): Promise<Pick<EmbeddingStyle, 'queryPrompt' | 'passagePrompt'>> {
  const value = await readJson(join(dir, PROMPTS))
  const { prompts = {}, default_prompt_name: always, similarity_fn_name: similarity } = parseAs(PromptsSchema, value ?? {}, PROMPTS)
  if (typeof always === 'string' && prompts[always])
    throw unsupported(`${PROMPTS}: default_prompt_name is ${always}; a prompt of every text is not supported`, 'default_prompt_name')
  if (typeof similarity === 'string' && similarity !== 'cosine' && similarity !== 'dot')
    throw unsupported(`${PROMPTS}: similarity_fn_name is ${similarity}; passages are searched by dot product`, 'similarity_fn_name')
  const passagePrompt = PASSAGE_PROMPTS.map((name) => prompts[name]).find((prompt) => typeof prompt === 'string')
  const { query } = prompts
  return { queryPrompt: query ?? '', passagePrompt: passagePrompt || undefined }
}
