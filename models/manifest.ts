import { createHash } from 'node:crypto'
import { Type, type Static } from 'typebox'
import { DTYPES } from './dtypes.ts'

export const MANIFEST_FILE = 'manifest.json'

/** Increased when folders of an older builder can no longer be used. */
export const BUILDER_VERSION = 1

/** Increased when a checkpoint's graphs change: folders with earlier ones are served, and built again where their checkpoint is at hand. */
export const GRAPHS_VERSION = 3

const DtypeSchema = Type.Enum([...DTYPES])
export type Dtype = Static<typeof DtypeSchema>

const FileSchema = Type.Object({
  name: Type.String({ description: 'Path relative to the model folder.' }),
  bytes: Type.Integer({ minimum: 0 }),
  sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
})

const SourceSchema = Type.Object({
  name: Type.String({ description: 'Folder name of the checkpoint, for people.' }),
  revision: Type.String({
    description:
      "SHA-256 over the configs, the weight files' names, sizes and headers, and the ends of every tensor: identifies the checkpoint, not its location.",
  }),
})

/** How the checkpoint's authors ask it questions: the service's defaults for it (the paper's section 4.2 for the published ones). */
export const QaDefaultsSchema = Type.Object(
  {
    k: Type.Integer({ minimum: 0, description: 'Passages retrieved per question.' }),
    k_decoder: Type.Integer({ minimum: 0, description: 'Passages placed in the decoder prompt; the others go to the encoder.' }),
    demonstrations: Type.Integer({ minimum: 0, description: 'Worked examples in front of the question.' }),
    context_tokens: Type.Integer({ minimum: 1, description: 'Tokens of one passage, truncated at its end.' }),
    max_new_tokens: Type.Integer({ minimum: 1 }),
    instruction: Type.Optional(
      Type.String({
        maxLength: 2000,
        description: 'Text after a question in a chat template; default: to answer with a name, number or phrase. Empty: none.',
      }),
    ),
    mode: Type.Optional(
      Type.Enum(['decoder-only', 'map-rerank'], { description: 'Default: cepe; decoder-only where the model has no encoder.' }),
    ),
    focus: Type.Optional(
      Type.Literal(true, { description: 'In mode map-rerank read the parts of each passage that are nearest to the question, too.' }),
    ),
  },
  { additionalProperties: false },
)
export type QaDefaults = Static<typeof QaDefaultsSchema>

/** The paper's open-domain QA protocol (section 4.2): 10 passages in the decoder, two demonstrations, 256-token contexts, 25 new tokens. */
export const PAPER_QA_DEFAULTS: QaDefaults = { k: 20, k_decoder: 10, demonstrations: 2, context_tokens: 256, max_new_tokens: 25 }

const OptionalId = Type.Union([Type.Integer(), Type.Null()])
const CommonFields = {
  builder_version: Type.Integer(),
  graphs_version: Type.Optional(Type.Integer({ description: 'Absent: 1.' })),
  built_at: Type.String(),
  dtype: DtypeSchema,
  opset: Type.Integer(),
  source: SourceSchema,
  files: Type.Array(FileSchema),
  parameters: Type.Integer({ description: 'Number of weights over all graphs, shared ones once.' }),
  sha256: Type.Optional(Type.String({ description: 'Digest of the other values; absent in early builds.' })),
}

export const CepeManifestSchema = Type.Object({
  ...CommonFields,
  architecture: Type.Literal('cepe'),
  graphs: Type.Object({
    encoder: Type.Union([Type.String(), Type.Null()], { description: 'null for a decoder alone.' }),
    generate: Type.String(),
    continue: Type.String({ description: 'Continues an answer that `generate` began, for streaming.' }),
    step: Type.String(),
  }),
  dims: Type.Object({
    vocab_size: Type.Integer(),
    hidden_size: Type.Integer({ description: 'd_dec' }),
    layers: Type.Integer(),
    heads: Type.Integer(),
    kv_heads: Type.Integer(),
    head_dim: Type.Integer(),
    window: Type.Integer({ description: 'Decoder positions: prompt and new tokens together.' }),
    cross_attention_layers: Type.Integer(),
    encoder_vocab_size: Type.Integer({ description: 'Encoder sizes are 0 for a decoder alone.' }),
    encoder_hidden_size: Type.Integer({ description: 'd_enc' }),
    encoder_layers: Type.Integer(),
    encoder_window: Type.Integer({ description: 'Most tokens of one encoder passage.' }),
  }),
  tokens: Type.Object({
    bos_id: Type.Union([Type.Integer(), Type.Null()], { description: 'Put in front of every prompt; null where the tokenizer puts none.' }),
    eos_ids: Type.Array(Type.Integer()),
    pad_id: OptionalId,
  }),
  rotary: Type.Optional(
    Type.Union(
      [
        Type.Object({
          frequencies: Type.Array(Type.Number(), { description: 'Angle per position of each pair, head_dim/2 of them.' }),
          interleaved: Type.Optional(Type.Boolean({ description: 'Pair j is channels (2j, 2j + 1), not (j, j + head_dim/2).' })),
          key_growth: Type.Optional(
            Type.Array(Type.Number(), { description: 'xPos: what each pair of a key is multiplied by from a position to the next.' }),
          ),
        }),
        Type.Object({
          by_length: Type.Literal(true, { description: 'Its basis depends on the length of the text: the step graph takes text_tokens.' }),
        }),
        Type.Null(),
      ],
      {
        description:
          "The decoder's rotary embedding, where it is one turn per position: what moves cached keys needs it. null where it is not.",
      },
    ),
  ),
  qa_defaults: QaDefaultsSchema,
})
export type CepeManifest = Static<typeof CepeManifestSchema>

/** Sizes and tokens of a text encoder. cls_id and sep_id are null without a tokenizer: such a model can be verified, not served. */
const EncoderDims = Type.Object({
  vocab_size: Type.Integer(),
  hidden_size: Type.Integer(),
  layers: Type.Integer(),
  heads: Type.Integer(),
  window: Type.Integer({ description: 'Most tokens of one text, or of a query and a passage, special tokens included.' }),
})
const ENCODER_TOKENS = { cls_id: OptionalId, sep_id: OptionalId, pad_id: Type.Integer() }

export const ContrieverManifestSchema = Type.Object({
  ...CommonFields,
  architecture: Type.Literal('contriever'),
  graphs: Type.Object({ embed: Type.String() }),
  dims: EncoderDims,
  embedding: Type.Optional(
    Type.Object(
      {
        pooling: Type.Enum(['mean', 'cls']),
        normalised: Type.Boolean({ description: 'Vectors have length 1.' }),
        query_prompt: Type.String({ description: 'Put in front of questions before they are embedded.' }),
        passage_prompt: Type.Optional(Type.String({ description: 'The same of passages.' })),
      },
      { description: 'As the checkpoint declares it (sentence-transformers); absent: mean, not normalised, no prompt.' },
    ),
  ),
  tokens: Type.Object(ENCODER_TOKENS),
})
export type ContrieverManifest = Static<typeof ContrieverManifestSchema>

/** Text in front of questions, or of passages, before they are embedded. */
export function promptOf({ embedding }: ContrieverManifest, kind: 'query' | 'passage'): string {
  return embedding?.[`${kind}_prompt`] ?? ''
}

export const RerankerManifestSchema = Type.Object({
  ...CommonFields,
  architecture: Type.Literal('reranker'),
  graphs: Type.Object({ rank: Type.String() }),
  dims: EncoderDims,
  tokens: Type.Object({
    ...ENCODER_TOKENS,
    separators: Type.Integer({ description: 'So many sep_id between query and passage.' }),
    passage_type: Type.Integer({ description: "Token type of the passage and the separator behind it; the query's is 0." }),
  }),
})
export type RerankerManifest = Static<typeof RerankerManifestSchema>

export const ModelManifestSchema = Type.Union([CepeManifestSchema, ContrieverManifestSchema, RerankerManifestSchema])
export type ModelManifest = Static<typeof ModelManifestSchema>

/**
 * Stable id of a built model, `<name>@<checkpoint>-<dtype>-<files>`: changes whenever its graphs, weights, precision, block size or
 * tokenizer change. Used in cache keys, index metadata and evaluations.
 */
export function modelId(manifest: ModelManifest): string {
  return `${manifest.source.name}${modelOrigin(manifest)}-${digestOf(manifest.files)}`
}

/** Digest of weights and tokenizer: that of builds which differ in their graphs alone, and so compute the same up to rounding. */
export function weightsOf({ files }: ModelManifest): string {
  return digestOf(files.filter(({ name }) => !name.endsWith('.onnx')))
}

function digestOf(files: ModelManifest['files']): string {
  const lines = files.map(({ name, sha256 }) => `${name} ${sha256}`).sort()
  return createHash('sha256').update(lines.join('\n')).digest('hex').slice(0, 8)
}

/** The part of a model's id that builds of the same checkpoint in the same precision share. */
export function modelOrigin({ source, dtype }: ModelManifest): string {
  return `@${source.revision.slice(0, 12)}-${dtype}`
}
