import { Type, type Static } from '#typebox'
import { CHUNKINGS } from '../text/document/request.ts'
import { DOCUMENT_REQUEST_LIMITS } from './limits.ts'
import { AnswerResponseSchema, ChatTemplateSchema, HighlightSchema, InstructionSchema, LIMITS, nonBlank, SamplingSchema } from './schema.ts'

const DocumentOptions = {
  question: Type.Optional(
    nonBlank(
      LIMITS.questionCharacters,
      'The question. Without one, and without summarise, the document must bring its own between BEGIN and END lines and after them.',
    ),
  ),
  summarise: Type.Optional(Type.Boolean({ description: 'Ask for a summary instead.' })),
  title: Type.Optional(
    Type.String({
      maxLength: DOCUMENT_REQUEST_LIMITS.titleCharacters,
      description: 'What the document is called; default: what the file itself says, or its name.',
    }),
  ),
  chunking: Type.Optional(
    Type.Enum([...CHUNKINGS], {
      description:
        'passages (default): sentences and lines are packed into chunks, each with title and heading in front. tokens: slices of the tokens, cut from the end, as in the published evaluation of long documents; the default for a document that brings its own question.',
    }),
  ),
  chunk_tokens: Type.Optional(
    Type.Integer({ minimum: 16, maximum: LIMITS.contextTokens, description: "Tokens of a chunk (default: the model's own)." }),
  ),
  decoder_tokens: Type.Optional(
    Type.Integer({
      minimum: 0,
      description:
        "Tokens of the document's end that stand in the decoder's prompt, where they fit (default: the model's k_decoder passages, or as much as there is room for without an encoder; 2,048 with question and answer at most). A model whose mode is map-rerank reads the chunks that fit the question best, one at a time, unless this is given.",
    }),
  ),
  encoder_tokens: Type.Optional(
    Type.Integer({
      minimum: 0,
      description:
        'Tokens in front of those that the encoder reads; what is earlier is not read (default: all; of a model without encoder 0).',
    }),
  ),
  max_new_tokens: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: DOCUMENT_REQUEST_LIMITS.newTokens,
      description: "Most tokens of the answer (default: the model's own; for a summary 256 or half the window).",
    }),
  ),
  min_new_tokens: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: DOCUMENT_REQUEST_LIMITS.newTokens,
      description: 'Tokens before which the answer does not end; attention is not measured then.',
    }),
  ),
  sampling: Type.Optional(SamplingSchema),
  chat_template: Type.Optional(ChatTemplateSchema),
  instruction: Type.Optional(InstructionSchema),
  evidence: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: DOCUMENT_REQUEST_LIMITS.evidence,
      description: 'Chunks of the encoder to return, by their share of attention (default: 5).',
    }),
  ),
  include_text: Type.Optional(Type.Boolean({ description: "Also return the document's text, which the offsets are of." })),
  include_prompts: Type.Optional(Type.Boolean({ description: "Also return the decoder's prompt and the encoder's texts." })),
}

/** Form fields beside the file. */
export const DocumentFormSchema = Type.Object(DocumentOptions, { additionalProperties: false })
export type DocumentForm = Static<typeof DocumentFormSchema>

export const DocumentRequestSchema = Type.Object(
  {
    text: Type.String({ minLength: 1, description: 'The document.' }),
    type: Type.Optional(
      Type.Enum(['text', 'markdown', 'html'], {
        description:
          'What the text is (default: text). Text is read as it is, with the headings of Markdown; Markdown and HTML as files of that type.',
      }),
    ),
    ...DocumentOptions,
  },
  { additionalProperties: false },
)

const offset = Type.Integer({ minimum: 0 })
const DocumentEvidenceSchema = Type.Object({
  start: Type.Integer({ minimum: 0, description: "First UTF-16 code unit of the chunk in the document's text." }),
  end: Type.Integer({ minimum: 0, description: 'Where it ends, exclusive.' }),
  text: Type.String(),
  pages: Type.Union([Type.Object({ first: Type.Integer({ minimum: 1 }), last: Type.Integer({ minimum: 1 }) }), Type.Null()], {
    description: 'Pages that it stands on; null for what has no pages.',
  }),
  rank: Type.Integer({ minimum: 1 }),
  role: Type.Enum(['encoder', 'decoder'], {
    description:
      "Where the model read it; decoder: in a prompt (the document's end, or in mode map-rerank a chunk that fits the question).",
  }),
  attention: Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()], {
    description:
      "Share of the decoder's cross-attention on this chunk; null in the decoder, and where it is not measured (sampling, min_new_tokens, very long documents).",
  }),
  tokens: offset,
  highlights: Type.Array(HighlightSchema, {
    description: "Where the chunk says the answer's words, as offsets in the document's text; at most 20.",
  }),
})
export type DocumentEvidence = Static<typeof DocumentEvidenceSchema>

const { confidence, model } = AnswerResponseSchema.properties

export const DocumentResponseSchema = Type.Object({
  answer: Type.String({ description: 'The answer, or the summary; empty where the model stopped at once.' }),
  confidence,
  finish_reason: Type.Enum(['stop', 'length']),
  document: Type.Object({
    title: Type.String(),
    type: Type.String({ description: 'Kind of the file: `text`, `markdown`, `html`, `pdf`, `docx`, ...' }),
    characters: Type.Integer(),
    tokens: Type.Integer({ description: 'Of the whole document.' }),
    pages: Type.Union([Type.Integer(), Type.Null()]),
    chunks: Type.Integer({ description: 'Chunks that the encoder read.' }),
    unread: Type.Integer({
      description:
        'Characters that neither side read (encoder_tokens, a model without encoder, or in mode map-rerank what fits the question less).',
    }),
    warnings: Type.Array(Type.String(), { description: 'What of the file is not in its text.' }),
    text: Type.Optional(Type.String()),
  }),
  evidence: Type.Array(DocumentEvidenceSchema, {
    description: "The encoder's chunks by their share of attention, then what the decoder read.",
  }),
  usage: AnswerResponseSchema.properties.usage,
  timings_ms: Type.Object({
    read: Type.Number({ description: 'Getting the text out of the file.' }),
    queue: Type.Number(),
    plan: Type.Number({ description: 'Dividing and tokenising the document.' }),
    encode: Type.Number(),
    generate: Type.Number(),
    total: Type.Number(),
  }),
  model: Type.Object({ reader: model.properties.reader }),
  prompts: Type.Optional(Type.Array(Type.String())),
  contexts: Type.Optional(Type.Array(Type.String())),
})
export type DocumentResponse = Static<typeof DocumentResponseSchema>
