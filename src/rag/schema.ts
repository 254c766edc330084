import { Type, type Static } from '#typebox'
import { FilterSchema } from '../../index/filter-schema.ts'
import { CollectionNameSchema } from '../../index/table-name.ts'
import { PassageMetadataSchema } from '../../index/passage-metadata.ts'
import { CHAT_TEMPLATES, type Turn } from '../text/chat-template.ts'
import type { Grammar } from '../text/grammar/grammar.ts'
import { MODES } from '../text/plan.ts'
import { AttendedSchema, ExplanationResponseFields, ConfidenceRequestFields, ConfidenceResponseFields } from './confidence-schema.ts'
import { LIMITS, METHODS } from './limits.ts'

export { LIMITS, METHODS }

export const MethodSchema = Type.Enum([...METHODS], {
  description:
    "dense: Contriever. text: BM25. hybrid: both, their scores fused with a weight measured on the corpus. Default: the service's setting (CEPE_RETRIEVAL).",
})
export type Method = Static<typeof MethodSchema>

const ModeSchema = Type.Enum([...MODES], {
  description:
    "cepe: passages beyond the decoder's go through the encoder. decoder-only: as many passages as the window holds, nothing encoded. " +
    'map-rerank: passages are read one at a time, best first, the first k_decoder in a prompt and the others through the encoder if there is one; ' +
    'the answer with the highest confidence times squared relative retrieval score is returned, and passages that cannot change it are not read. ' +
    'replug: one prompt per passage, next-token distributions mixed by retrieval score. closed-book: no passages. ' +
    "Default: the model's own (qa_config.json), else cepe; decoder-only where the model is a decoder without encoder, which is not asked in mode cepe.",
})

export const SamplingSchema = Type.Object(
  {
    temperature: Type.Number({ minimum: LIMITS.leastTemperature, maximum: 10 }),
    top_p: Type.Number({ exclusiveMinimum: 0, maximum: 1 }),
    top_k: Type.Optional(Type.Integer({ minimum: 1, description: 'Most likely tokens to choose from. Default: all.' })),
    seed: Type.Integer({ minimum: 0, maximum: 0xffffffff }),
  },
  {
    additionalProperties: false,
    title: 'Sampling',
    description:
      'Sample instead of greedy decoding. The greedy answer is read first: it selects the passages, and an answer is withheld if the greedy one is.',
  },
)

export const StopSchema = Type.Array(Type.String({ minLength: 1, maxLength: LIMITS.stopCharacters }), {
  maxItems: LIMITS.stops,
  description: 'Texts that end the answer where they come up, and are not part of it. A line end always ends it.',
})

export const ChatTemplateSchema = Type.Enum([...CHAT_TEMPLATES], {
  description:
    "Chat template of the prompt. none: nothing, as in the paper. inst: LLaMA-2-Chat's [INST] ... [/INST]. tokenizer: the model's own, as the only message of a user. Default: the service's setting (CEPE_CHAT_TEMPLATE), else none.",
})

export const InstructionSchema = Type.String({
  maxLength: LIMITS.instructionCharacters,
  description:
    'Text after the question in the prompt. Default with a chat template: the model\'s own (qa_config.json), else one that asks for a name, number or phrase from the passages, or "not in the passages", which counts as an empty answer. Empty: none. For a summary: what to write.',
})

export function nonBlank(maxLength: number, description: string) {
  return Type.String({ minLength: 1, maxLength, pattern: '\\S', description })
}

export const SuppliedPassageSchema = Type.Object(
  {
    id: Type.Optional(Type.String({ maxLength: 512 })),
    title: Type.String({ maxLength: 1000 }),
    text: nonBlank(LIMITS.passageCharacters, 'The passage.'),
    score: Type.Optional(
      Type.Number({ minimum: -LIMITS.score, maximum: LIMITS.score, description: 'Retrieval score (replug weighs passages by it).' }),
    ),
    source: Type.Optional(Type.String({ maxLength: 1000, description: 'Where it came from; comes back with the evidence.' })),
    metadata: Type.Optional(PassageMetadataSchema),
  },
  { additionalProperties: false, title: 'SuppliedPassage' },
)

const DemonstrationSchema = Type.Object(
  {
    question: nonBlank(LIMITS.questionCharacters, "A worked example's question."),
    answer: nonBlank(1000, 'Its answer.'),
    passage: Type.Optional(
      Type.Object(
        { title: Type.String({ maxLength: 1000 }), text: nonBlank(LIMITS.passageCharacters, 'The passage that answers it.') },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false, title: 'Demonstration' },
)

const EarlierSchema = Type.Object(
  {
    question: nonBlank(LIMITS.questionCharacters, 'The question as it was asked.'),
    answer: Type.Union([Type.String({ maxLength: LIMITS.passageCharacters }), Type.Null()], { description: 'null: there was none.' }),
  },
  { additionalProperties: false, title: 'EarlierQuestion' },
)

const rerankField = Type.Optional(
  Type.Boolean({
    description:
      "Find more passages than are kept, and keep those that fit the question best (ordered as by POST /v1/rerank). Scores stay the search's. Default: false.",
  }),
)
export const kField = Type.Integer({ minimum: 0, maximum: LIMITS.k, description: "Passages to retrieve (default: the model's own)." })

export const AnswerRequestSchema = Type.Object(
  {
    question: nonBlank(LIMITS.questionCharacters, 'The question, in any manner of writing.'),
    earlier: Type.Optional(
      Type.Array(EarlierSchema, {
        maxItems: LIMITS.earlier,
        description: 'Questions before this one with their answers, oldest first: a question that follows them is made to stand alone.',
      }),
    ),
    collection: Type.Optional(CollectionNameSchema),
    k: Type.Optional(kField),
    k_decoder: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: LIMITS.k,
        description: "Passages placed in the decoder prompt; the others go to the encoder (default: the model's own).",
      }),
    ),
    mode: Type.Optional(ModeSchema),
    encoder_passages: Type.Optional(
      Type.Union([Type.Literal('others'), Type.Literal('all')], {
        description: 'others (default): the encoder gets the passages that the decoder prompt does not hold. all: it gets all of them.',
      }),
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
            "How many of the service's worked examples precede the question, or the examples themselves (default: the model's own number; none with a chat template).",
        },
      ),
    ),
    context_tokens: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMITS.contextTokens, description: 'Tokens kept of each passage.' })),
    max_new_tokens: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMITS.newTokens, description: 'Most tokens of the answer.' })),
    stop: Type.Optional(StopSchema),
    sampling: Type.Optional(SamplingSchema),
    packing: Type.Optional(
      Type.Enum(['passages', 'text'], {
        description:
          'passages (default): each passage is cut to context_tokens, and what does not fit the window is left out whole. text: as the published evaluation: passages are cut where the window ends, with a line that says so, and encoder contexts at their front.',
      }),
    ),
    ...ConfidenceRequestFields,
    chat_template: Type.Optional(ChatTemplateSchema),
    instruction: Type.Optional(InstructionSchema),
    include_prompts: Type.Optional(
      Type.Boolean({ description: 'Also return the rendered decoder prompts, as tokenised, and the texts of the encoder, as cut.' }),
    ),
    replug_temperature: Type.Optional(
      Type.Number({ minimum: LIMITS.leastTemperature, maximum: 1000, description: 'Temperature of the passage weights in replug mode.' }),
    ),
  },
  { additionalProperties: false, title: 'Question' },
)
export type AnswerRequest = Static<typeof AnswerRequestSchema>
/** A question of a chat with earlier messages and output constraints. */
export type ChatQuestion = AnswerRequest & {
  /** Messages before the question, which stands alone already. */
  readonly turns?: readonly Turn[]
  /** Constrains the answer. */
  readonly grammar?: Grammar
}

const offset = Type.Integer({ minimum: 0 })
export const HighlightSchema = Type.Object(
  { start: offset, end: offset, sentence: Type.Object({ start: offset, end: offset }) },
  { title: 'Highlight', description: 'UTF-16 code units of `text`; the end is exclusive.' },
)

export const EvidenceSchema = Type.Object(
  {
    id: Type.String(),
    title: Type.String(),
    text: Type.String(),
    source: Type.Optional(Type.String({ description: 'Where the passage came from, if the corpus says so: a URL, a file.' })),
    metadata: Type.Optional(PassageMetadataSchema),
    file: Type.Optional(
      Type.String({ description: 'Where the file is to be had that the passage was taken from, by its name (CEPE_SERVE_FILES).' }),
    ),
    score: Type.Union([Type.Number(), Type.Null()], {
      description: 'By method: dot product with the question, BM25, or both fused (0 to 1); null for supplied passages without one.',
    }),
    rank: Type.Integer({ minimum: 1 }),
    role: Type.Union([Type.Literal('encoder'), Type.Literal('decoder'), Type.Literal('both'), Type.Literal('unused')], {
      description: 'Where the model read the passage; unused: it did not fit (decoder-only), or could not change the answer (map-rerank).',
    }),
    attention: Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()], {
      description:
        "Share of the decoder's cross-attention on this passage, over layers, heads and answer tokens; null where the encoder did not see it, and in scores. With sampling: of the greedy answer.",
    }),
    tokens: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
      description: 'Tokens that the encoder kept; null where it did not see it.',
    }),
    highlights: Type.Array(HighlightSchema, {
      description: "Where the passage says the answer's words, each with its sentence; at most 20. Empty where it does not say them.",
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

export const ReasonSchema = Type.Union([Type.Literal('no_passages'), Type.Null()], {
  description: 'Why there is no answer: no_passages, none were found (or supplied). null where there is one.',
})

const ExtractSchema = Type.Object({
  id: Type.String({ description: 'The passage.' }),
  title: Type.String(),
  start: Type.Integer({ minimum: 0, description: "Of the sentence in the passage's text, in UTF-16 code units." }),
  end: Type.Integer({ minimum: 0 }),
  text: Type.String(),
})
export type Extract = Static<typeof ExtractSchema>

export const AnswerResponseSchema = Type.Object(
  {
    question: Type.String({ description: 'What was searched and asked: the question, made to stand alone where it follows another.' }),
    answer: Type.Union([Type.String(), Type.Null()], {
      description:
        'The answer; empty where the model stopped at once, null where there was nothing to answer from or it is withheld (see reason).',
    }),
    ...ConfidenceResponseFields,
    extract: Type.Union([ExtractSchema, Type.Null()], {
      description:
        'Where no answer is given (withheld, or empty): the sentence of the passages that comes nearest to the question. null where there is an answer, or no passage.',
    }),
    suggestion: Type.Optional(Type.String({ description: 'With the reason no_question: a sentence on what can be asked here.' })),
    confidence: Type.Number({
      minimum: 0,
      maximum: 1,
      description:
        'Geometric mean of the probabilities of the generated tokens, the stop token included: exp(mean log-probability); 0 where the answer is empty. With sampling: of the greedy answer too, the lower of both; with a response format: of the value alone. A ranking score, not a calibrated probability.',
    }),
    finish_reason: Type.Union([Type.Literal('stop'), Type.Literal('length'), Type.Null()], {
      description: 'stop: the answer ended by itself. length: max_new_tokens was reached. null: nothing was generated.',
    }),
    evidence: Type.Array(EvidenceSchema),
    mode: ModeSchema,
    usage: Type.Object({
      prompt_tokens: Type.Integer({ description: 'Decoder prompt (in replug mode: of all prompts).' }),
      context_tokens: Type.Integer({ description: 'Encoder tokens over all passages.' }),
      generated_tokens: Type.Integer(),
    }),
    timings_ms: Type.Object({
      embed: Type.Number(),
      retrieve: Type.Number(),
      queue: Type.Number({ description: 'Waiting for a free reader.' }),
      plan: Type.Number({ description: 'Making and tokenising the prompts.' }),
      encode: Type.Number(),
      generate: Type.Number(),
      total: Type.Number(),
    }),
    model: Type.Object({ reader: Type.String(), retriever: Type.Union([Type.String(), Type.Null()]) }),
    index: Type.Union([IndexVersionSchema, Type.Null()]),
    ...ExplanationResponseFields,
    prompts: Type.Optional(Type.Array(Type.String())),
    contexts: Type.Optional(Type.Array(Type.String(), { description: "The encoder's texts, by rank (with include_prompts)." })),
  },
  { title: 'AnswerResponse' },
)
export type AnswerResponse = Static<typeof AnswerResponseSchema>

export const SearchRequestSchema = Type.Object(
  {
    query: nonBlank(LIMITS.questionCharacters, 'What to look for.'),
    collection: Type.Optional(CollectionNameSchema),
    k: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMITS.k, default: 10 })),
    filter: Type.Optional(FilterSchema),
    method: Type.Optional(MethodSchema),
    rerank: rerankField,
  },
  { additionalProperties: false },
)
export type SearchRequest = Static<typeof SearchRequestSchema>

export const SearchResponseSchema = Type.Object({
  passages: Type.Array(
    Type.Object({
      id: Type.String(),
      title: Type.String(),
      text: Type.String(),
      source: EvidenceSchema.properties.source,
      metadata: EvidenceSchema.properties.metadata,
      file: EvidenceSchema.properties.file,
      score: Type.Number(),
      rank: Type.Integer(),
    }),
  ),
  timings_ms: Type.Object({ embed: Type.Number(), retrieve: Type.Number(), total: Type.Number() }),
  model: Type.Object({ retriever: Type.String() }),
  index: IndexVersionSchema,
})
export type SearchResponse = Static<typeof SearchResponseSchema>
