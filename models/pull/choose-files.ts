import { unsupported } from '../errors.ts'

export interface HubFile {
  readonly path: string
  readonly size: number
  /** SHA-256 (hex) of files in large file storage; null for small ones, which are identified by their git blob. */
  readonly sha256: string | null
  /** SHA-1 of the git blob. */
  readonly blob: string
}

const PLAIN = [
  'config.json',
  'generation_config.json',
  'tokenizer.json',
  'tokenizer_config.json',
  'chat_template.jinja',
  'tokenizer.model',
  'vocab.txt',
  'qa_config.json',
  // Files of sentence-transformers: how vectors are computed.
  'modules.json',
  '1_Pooling/config.json',
  'config_sentence_transformers.json',
  'sentence_bert_config.json',
]
const WEIGHTS = [
  { single: 'model.safetensors', index: 'model.safetensors.index.json', shard: /^model-\d+-of-\d+\.safetensors$/ },
  { single: 'pytorch_model.bin', index: 'pytorch_model.bin.index.json', shard: /^pytorch_model-\d+-of-\d+\.bin$/ },
] as const

/**
 * Selects the files that a build reads: configuration, tokenizer, and the weights in one form, preferring safetensors.
 * @throws unsupported for a repository without config.json or weights
 */
export function chooseFiles(repository: string, files: readonly HubFile[]): readonly HubFile[] {
  const named = new Map(files.map((file) => [file.path, file]))
  const of = (paths: readonly string[]): HubFile[] => paths.flatMap((path) => named.get(path) ?? [])
  if (!named.has('config.json'))
    throw unsupported(`${repository} has no config.json: it is no checkpoint in Hugging Face layout`, 'config.json')
  for (const { single, index, shard } of WEIGHTS) {
    if (named.has(single)) return [...of(PLAIN), ...of([single])]
    if (named.has(index)) return [...of(PLAIN), ...of([index]), ...files.filter(({ path }) => shard.test(path))]
  }
  throw unsupported(`${repository} has neither model.safetensors nor pytorch_model.bin, whole or in shards`, 'model.safetensors')
}
