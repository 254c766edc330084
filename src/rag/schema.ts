import { Type, type Static } from 'typebox'
import { FilterSchema } from '../../index/filter-schema.ts'
import { CollectionNameSchema } from '../../index/table-name.ts'
import { PassageMetadataSchema } from '../../index/passage-metadata.ts'
import { CHAT_TEMPLATES, type Turn } from '../text/chat-template.ts'
import type { Grammar } from '../text/grammar/grammar.ts'
import { MODES } from '../text/plan.ts'
import { AttendedSchema, ExplanationResponseFields, ConfidenceRequestFields, ConfidenceResponseFields } from './confidence-schema.ts'
import { LIMITS, METHODS } from './limits.ts'
import { closed, nonBlank, optionalBoolean, optionalEnum, optionalInteger, optionalNumber, optionalText, orNull } from '../text/fields.ts'

export { LIMITS, METHODS }

export const MethodSchema = Type.Enum([...METHODS], {
  description:
    "Search method. dense: embeddings, of a long question up to the retriever's window. text: BM25. hybrid: a weighted sum of both scores. Default: CEPE_RETRIEVAL.",
})
export type Method = Static<typeof MethodSchema>

const ModeSchema = Type.Enum([...MODES], {
  description:
    'How the reader reads the passages; docs/api.md describes each mode. Default: the mode of qa_config.json, else cepe, or decoder-only for a model without encoder.',
})

export const SamplingSchema = Type.Object(
  {
    temperature: Type.Number({ minimum: LIMITS.leastTemperature, maximum: 10 }),
    top_p: Type.Number({ exclusiveMinimum: 0, maximum: 1 }),
    top_k: Type.Optional(Type.Integer({ minimum: 1, description: 'Sample from this many most probable tokens. Default: all.' })),
    seed: Type.Integer({ minimum: 0, maximum: 0xffffffff }),
  },
  {
    additionalProperties: false,
    title: 'Sampling',
    description: 'Sample instead of greedy decoding. The greedy answer still selects the passages and decides whether to withhold.',
  },
)

const StopSchema = Type.Array(Type.String({ minLength: 1, maxLength: LIMITS.stopCharacters }), {
  maxItems: LIMITS.stops,
  description: 'Stop sequences, excluded from the answer. A line end always stops generation.',
})

export const ChatTemplateSchema = Type.Enum([...CHAT_TEMPLATES], {
  description:
    "Chat template of the prompt. none: no template, as in the paper. inst: LLaMA-2-Chat's [INST] ... [/INST]. tokenizer: the model's own. Default: CEPE_CHAT_TEMPLATE, else none.",
})

export const InstructionSchema = Type.String({
  maxLength: LIMITS.instructionCharacters,
  description:
    'Instruction after the question in the prompt; empty for none. Default with a chat template: that of qa_config.json, else to answer in the fewest words.',
})

export const SuppliedPassageSchema = Type.Object(
  {
    id: Type.Optional(Type.String({ maxLength: 512 })),
    title: Type.String({ maxLength: 1000 }),
    text: nonBlank(LIMITS.passageCharacters, 'The passage.'),
    score: optionalNumber([-LIMITS.score, LIMITS.score], 'Retrieval score; weight of the passage in replug mode.'),
    source: optionalText(1000, 'Origin of the passage; returned with the evidence.'),
    metadata: Type.Optional(PassageMetadataSchema),
  },
  { additionalProperties: false, title: 'SuppliedPassage' },
)

const DemonstrationSchema = Type.Object(
  {
    question: nonBlank(LIMITS.questionCharacters, 'Question of a few-shot example.'),
    answer: nonBlank(1000, 'Answer of the example.'),
    passage: Type.Optional(
      closed({ title: Type.String({ maxLength: 1000 }), text: nonBlank(LIMITS.passageCharacters, 'Passage that contains the answer.') }),
    ),
  },
  { additionalProperties: false, title: 'Demonstration' },
)

const EarlierSchema = Type.Object(
  {
    question: nonBlank(LIMITS.questionCharacters, 'The question.'),
    answer: orNull(Type.String({ maxLength: LIMITS.passageCharacters }), 'null: there was none.'),
  },
  { additionalProperties: false, title: 'EarlierQuestion' },
)

const rerankField = optionalBoolean('Retrieve more passages, rerank them as POST /v1/rerank does, and keep the best. Default: false.')
export const kField = Type.Integer({
  minimum: 0,
  maximum: LIMITS.k,
  description: "Number of passages to retrieve, or to read of those supplied. Default: the model's protocol, or all supplied.",
})

export const AnswerRequestSchema = Type.Object(
  {
    question: nonBlank(LIMITS.questionCharacters, 'The question. Case and punctuation do not matter.'),
    earlier: Type.Optional(
      Type.Array(EarlierSchema, {
        maxItems: LIMITS.earlier,
        description: 'Earlier questions with their answers, oldest first. A follow-up question is rewritten to stand alone.',
      }),
    ),
    collection: Type.Optional(CollectionNameSchema),
    k: Type.Optional(kField),
    k_decoder: optionalInteger(
      [0, LIMITS.k],
      "Number of passages in the decoder prompt; the others go to the encoder. Default: the model's protocol.",
    ),
    mode: Type.Optional(ModeSchema),
    encoder_passages: optionalEnum(
      ['others', 'all'],
      'Passages that the encoder reads. others: those not in the decoder prompt. all: all of them. Default: others.',
    ),
    method: Type.Optional(MethodSchema),
    rerank: rerankField,
    filter: Type.Optional(FilterSchema),
    passages: Type.Optional(
      Type.Array(SuppliedPassageSchema, {
        maxItems: LIMITS.suppliedPassages,
        description: 'Answer from these passages, best first, instead of retrieving.',
      }),
    ),
    demonstrations: Type.Optional(
      Type.Union(
        [
          Type.Integer({ minimum: 0, maximum: LIMITS.demonstrations }),
          Type.Array(DemonstrationSchema, { maxItems: LIMITS.demonstrations }),
        ],
        {
          description:
            "Number of the service's few-shot examples in the prompt, or the examples themselves. Default: the model's protocol; none with a chat template.",
        },
      ),
    ),
    context_tokens: optionalInteger([1, LIMITS.contextTokens], 'Maximum number of tokens per passage; longer passages are truncated.'),
    max_new_tokens: optionalInteger(
      [1, LIMITS.newTokens],
      "Maximum number of tokens to generate. Default: the model's protocol; an answer of mode map-rerank that it cuts may have three times as many.",
    ),
    stop: Type.Optional(StopSchema),
    sampling: Type.Optional(SamplingSchema),
    packing: optionalEnum(
      ['passages', 'text'],
      'passages: each is truncated to context_tokens, those that do not fit are left out. text: the prompt is truncated at the window, as in the published evaluation. Default: passages.',
    ),
    ...ConfidenceRequestFields,
    chat_template: Type.Optional(ChatTemplateSchema),
    instruction: Type.Optional(InstructionSchema),
    include_prompts: optionalBoolean("Also return the decoder prompts and the encoder's texts, as tokenised and truncated."),
    replug_temperature: optionalNumber([LIMITS.leastTemperature, 1000], 'Temperature of the softmax over passage weights in replug mode.'),
  },
  { additionalProperties: false, title: 'Question' },
)
export type AnswerRequest = Static<typeof AnswerRequestSchema>
/** A question of a chat with earlier messages and output constraints. */
export type ChatQuestion = AnswerRequest & {
  /** Messages before the question, which stands alone already. */
  readonly turns?: readonly Turn[]
  readonly grammar?: Grammar
}

const offset = Type.Integer({ minimum: 0 })
export const HighlightSchema = Type.Object(
  { start: offset, end: offset, sentence: Type.Object({ start: offset, end: offset }) },
  { title: 'Highlight', description: 'Offsets in `text` in UTF-16 code units; the end is exclusive.' },
)

export const EvidenceSchema = Type.Object(
  {
    id: Type.String(),
    title: Type.String(),
    text: Type.String(),
    source: Type.Optional(Type.String({ description: 'Origin of the passage, such as a URL or a file, if the corpus names it.' })),
    metadata: Type.Optional(PassageMetadataSchema),
    file: Type.Optional(Type.String({ description: 'URL of the file that the passage was taken from (CEPE_SERVE_FILES).' })),
    score: orNull(
      Type.Number(),
      'Retrieval score: dot product (dense), BM25 (text) or weighted sum (hybrid); null if supplied without one.',
    ),
    rank: Type.Integer({ minimum: 1 }),
    role: Type.Union([Type.Literal('encoder'), Type.Literal('decoder'), Type.Literal('both'), Type.Literal('unused')], {
      description: 'Where the model read the passage. unused: it did not fit (decoder-only) or could not change the answer (map-rerank).',
    }),
    attention: orNull(
      Type.Number({ minimum: 0, maximum: 1 }),
      "Share of the decoder's cross-attention on this passage, over layers, heads and answer tokens; null if the encoder did not read it for the answer. With sampling: of the greedy answer.",
    ),
    tokens: orNull(Type.Integer({ minimum: 0 }), 'Tokens that the encoder read; null if it did not read the passage.'),
    highlights: Type.Array(HighlightSchema, {
      description: 'Occurrences of the answer in the passage, each with its sentence. At most 20.',
    }),
    attended: AttendedSchema,
  },
  { title: 'Evidence' },
)
export type Evidence = Static<typeof EvidenceSchema>

export const IndexVersionSchema = Type.Object(
  { table: Type.String(), version: Type.Integer(), passages: Type.Integer() },
  { title: 'IndexVersion' },
)
export type IndexVersion = Static<typeof IndexVersionSchema>

export const ReasonSchema = orNull(Type.Literal('no_passages'), 'no_passages: none were found or supplied. null otherwise.')

const ExtractSchema = Type.Object({
  id: Type.String({ description: 'The passage.' }),
  title: Type.String(),
  start: Type.Integer({ minimum: 0, description: "Offsets of the sentence in the passage's text, in UTF-16 code units." }),
  end: Type.Integer({ minimum: 0 }),
  text: Type.String(),
})
export type Extract = Static<typeof ExtractSchema>

export const AnswerResponseSchema = Type.Object(
  {
    question: Type.String({ description: 'The question that was searched for; a follow-up is rewritten to stand alone.' }),
    answer: orNull(Type.String(), 'The answer; empty if the reader found none, null if withheld or without passages (see reason).'),
    ...ConfidenceResponseFields,
    extract: orNull(
      ExtractSchema,
      'Without an answer: the sentence of the passages most similar to the question. null with an answer or without passages.',
    ),
    suggestion: Type.Optional(Type.String({ description: 'With reason no_question: a sentence on what can be asked.' })),
    confidence: Type.Number({
      minimum: 0,
      maximum: 1,
      description:
        "Geometric mean of the generated tokens' probabilities, with focus over all readings; 0 for an empty answer. With sampling: at most that of the greedy answer. Not a calibrated probability.",
    }),
    finish_reason: Type.Union([Type.Literal('stop'), Type.Literal('length'), Type.Null()], {
      description: 'stop: the model ended the answer. length: max_new_tokens was reached. null: nothing was generated.',
    }),
    evidence: Type.Array(EvidenceSchema),
    mode: ModeSchema,
    usage: Type.Object({
      prompt_tokens: Type.Integer({ description: 'Tokens in the decoder prompt, or in all prompts of a mode that reads several.' }),
      context_tokens: Type.Integer({ description: 'Tokens that the encoder read, over all passages and parts of them.' }),
      generated_tokens: Type.Integer(),
    }),
    timings_ms: Type.Object({
      embed: Type.Number(),
      retrieve: Type.Number(),
      queue: Type.Number({ description: 'Waiting for a free reader, in milliseconds.' }),
      plan: Type.Number({ description: 'Rendering and tokenising the prompts, in milliseconds.' }),
      encode: Type.Number(),
      generate: Type.Number(),
      total: Type.Number(),
    }),
    model: Type.Object({ reader: Type.String(), retriever: orNull(Type.String()) }),
    index: orNull(IndexVersionSchema),
    ...ExplanationResponseFields,
    prompts: Type.Optional(Type.Array(Type.String())),
    contexts: Type.Optional(Type.Array(Type.String(), { description: "The encoder's texts, by rank (with include_prompts)." })),
  },
  { title: 'AnswerResponse' },
)
export type AnswerResponse = Static<typeof AnswerResponseSchema>

export const SearchRequestSchema = closed({
  query: nonBlank(LIMITS.questionCharacters, 'The query.'),
  collection: Type.Optional(CollectionNameSchema),
  k: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMITS.k, default: 10 })),
  filter: Type.Optional(FilterSchema),
  method: Type.Optional(MethodSchema),
  rerank: rerankField,
})
export type SearchRequest = Static<typeof SearchRequestSchema>

const { id, title, text, source, metadata, file } = EvidenceSchema.properties
export const SearchResponseSchema = Type.Object({
  passages: Type.Array(Type.Object({ id, title, text, source, metadata, file, score: Type.Number(), rank: Type.Integer() })),
  timings_ms: Type.Object({ embed: Type.Number(), retrieve: Type.Number(), total: Type.Number() }),
  model: Type.Object({ retriever: Type.String() }),
  index: IndexVersionSchema,
})
export type SearchResponse = Static<typeof SearchResponseSchema>
