import { Type, type Static } from 'typebox'
import { CHUNKINGS } from '../text/document/request.ts'
import { DOCUMENT_REQUEST_LIMITS } from './limits.ts'
import { AnswerResponseSchema, ChatTemplateSchema, HighlightSchema, InstructionSchema, LIMITS, SamplingSchema } from './schema.ts'
import { closed, nonBlank, optionalBoolean, optionalCount, optionalEnum, optionalInteger, optionalText, orNull } from '../text/fields.ts'

const DocumentOptions = {
  question: Type.Optional(
    nonBlank(
      LIMITS.questionCharacters,
      'The question. Required, unless summarise is true or the document contains its own question after BEGIN and END lines.',
    ),
  ),
  summarise: optionalBoolean('Summarise the document instead of answering a question. Default: false.'),
  title: optionalText(
    DOCUMENT_REQUEST_LIMITS.titleCharacters,
    'Title of the document. Default: the title stored in the file, else the file name.',
  ),
  chunking: optionalEnum(
    CHUNKINGS,
    'passages: chunks of whole sentences with title and heading. tokens: fixed slices cut from the end, as in the paper. Default: passages; tokens if the document contains its own question.',
  ),
  chunk_tokens: optionalInteger([16, LIMITS.contextTokens], "Tokens per chunk. Default: the model's protocol."),
  decoder_tokens: optionalCount(
    0,
    "Tokens at the end of the document to place in the decoder prompt. Default: the model's k_decoder passages; in map-rerank mode the best chunks are read one at a time.",
  ),
  encoder_tokens: optionalCount(
    0,
    'Tokens before those that the encoder reads; earlier text is not read. Default: all; 0 for a model without encoder.',
  ),
  max_new_tokens: optionalInteger(
    [1, DOCUMENT_REQUEST_LIMITS.newTokens],
    "Maximum number of tokens to generate. Default: the model's protocol; 256 or half the window for a summary.",
  ),
  min_new_tokens: optionalInteger(
    [0, DOCUMENT_REQUEST_LIMITS.newTokens],
    'Minimum number of tokens to generate. If set, attention is not measured.',
  ),
  sampling: Type.Optional(SamplingSchema),
  chat_template: Type.Optional(ChatTemplateSchema),
  instruction: Type.Optional(InstructionSchema),
  evidence: optionalInteger(
    [0, DOCUMENT_REQUEST_LIMITS.evidence],
    'Number of encoder chunks to return, by share of attention. Default: 5.',
  ),
  include_text: optionalBoolean("Also return the document's text, to which all offsets refer."),
  include_prompts: optionalBoolean("Also return the decoder's prompt and the encoder's texts."),
}

export const DocumentFormSchema = closed(DocumentOptions)
export type DocumentForm = Static<typeof DocumentFormSchema>

export const DocumentRequestSchema = closed({
  text: Type.String({ minLength: 1, description: 'The document. Its letters are composed (NFC); offsets refer to that text.' }),
  type: optionalEnum(
    ['text', 'markdown', 'html'],
    'Format of the text. text: read as is, with Markdown headings. markdown, html: parsed as a file of that type. Default: text.',
  ),
  ...DocumentOptions,
})

const DocumentEvidenceSchema = Type.Object({
  start: Type.Integer({ minimum: 0, description: "First UTF-16 code unit of the chunk in the document's text." }),
  end: Type.Integer({ minimum: 0, description: "End of the chunk in the document's text, exclusive." }),
  text: Type.String(),
  pages: orNull(
    Type.Object({ first: Type.Integer({ minimum: 1 }), last: Type.Integer({ minimum: 1 }) }),
    'First and last page of the chunk; null for a format without pages.',
  ),
  rank: Type.Integer({ minimum: 1 }),
  role: Type.Enum(['encoder', 'decoder', 'both'], { description: "Where the model read the chunk: encoder, or the decoder's prompt." }),
  attention: orNull(
    Type.Number({ minimum: 0, maximum: 1 }),
    "Share of the decoder's cross-attention on this chunk; null for chunks in the decoder, with sampling or min_new_tokens, and for very long documents.",
  ),
  tokens: Type.Integer({ minimum: 0 }),
  highlights: Type.Array(HighlightSchema, {
    description: "Occurrences of the answer in the chunk, as offsets in the document's text. At most 20.",
  }),
})
export type DocumentEvidence = Static<typeof DocumentEvidenceSchema>

const { confidence, model } = AnswerResponseSchema.properties

export const DocumentResponseSchema = Type.Object({
  answer: Type.String({ description: 'The answer or summary; empty if the model generated nothing.' }),
  confidence,
  finish_reason: Type.Enum(['stop', 'length']),
  document: Type.Object({
    title: Type.String(),
    type: Type.String({ description: 'Format of the file: `text`, `markdown`, `html`, `pdf`, `docx`, ...' }),
    characters: Type.Integer(),
    tokens: Type.Integer({ description: 'Tokens in the document.' }),
    pages: orNull(Type.Integer()),
    chunks: Type.Integer({ description: 'Number of chunks that the encoder read.' }),
    unread: Type.Integer({ description: 'Characters that neither encoder nor decoder read.' }),
    warnings: Type.Array(Type.String(), { description: 'Content of the file that is missing from its text.' }),
    text: Type.Optional(Type.String()),
  }),
  evidence: Type.Array(DocumentEvidenceSchema, {
    description: "The encoder's chunks by share of attention, followed by those of the decoder.",
  }),
  usage: AnswerResponseSchema.properties.usage,
  timings_ms: Type.Object({
    read: Type.Number({ description: 'Extracting the text, in milliseconds.' }),
    queue: Type.Number(),
    plan: Type.Number({ description: 'Chunking and tokenising the document, in milliseconds.' }),
    encode: Type.Number(),
    generate: Type.Number(),
    total: Type.Number(),
  }),
  model: Type.Object({ reader: model.properties.reader }),
  prompts: Type.Optional(Type.Array(Type.String())),
  contexts: Type.Optional(Type.Array(Type.String())),
})
export type DocumentResponse = Static<typeof DocumentResponseSchema>
