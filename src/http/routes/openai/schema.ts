import { Type, type Static } from 'typebox'
import { AnnotationsSchema, CitationSchema } from './citations.ts'
import { optionalBoolean, optionalOrNull, orNull } from '../../../text/fields.ts'
import { AnswerRequestSchema, AnswerResponseSchema, EvidenceSchema, LIMITS } from '../../../rag/schema.ts'

/** Limits of the OpenAI-compatible routes. */
export const OPENAI_LIMITS = { messages: 1000, inputs: 2048, inputCharacters: 100_000 } as const

const { collection, k, k_decoder, mode, method, filter, context_tokens, min_confidence, chat_template, instruction, stop } =
  AnswerRequestSchema.properties
const shared = { collection, k, k_decoder, mode, method, filter, context_tokens, min_confidence, chat_template, instruction }

/** Options beyond OpenAI's fields: the `cepe` field of a request. */
const ExtensionSchema = Type.Object(
  {
    ...shared,
    sources: optionalBoolean('Append the sources to the answer as a numbered list with URLs. Default: CEPE_CHAT_SOURCES.'),
  },
  { additionalProperties: false, description: 'Options of POST /v1/answer.' },
)

const MessageSchema = Type.Object({
  role: Type.String({ maxLength: 64 }),
  content: Type.Optional(
    Type.Union([
      Type.String(),
      Type.Null(),
      Type.Array(Type.Object({ type: Type.String(), text: Type.Optional(Type.String()) }), { maxItems: OPENAI_LIMITS.messages }),
    ]),
  ),
})

const formatType = Type.String({ maxLength: 64, description: 'text or json_schema.' })
const NamedSchemaFields = {
  name: Type.Optional(Type.String({ maxLength: 64, description: 'No effect.' })),
  description: optionalOrNull(Type.String({ description: 'No effect.' })),
  strict: optionalOrNull(Type.Boolean({ description: 'No effect: the answer always has the form.' })),
  schema: Type.Optional(Type.Unknown()),
}
const constrains = {
  description:
    'json_schema: constrain the answer to an enum, a string, a number, an integer, a boolean, or an object of these with all properties required.',
}
const FormatSchema = Type.Object({ type: formatType, json_schema: Type.Optional(Type.Object(NamedSchemaFields)) }, constrains)
const ResponsesFormatSchema = Type.Object({ type: formatType, ...NamedSchemaFields }, constrains)

const mostTokens = optionalOrNull(
  Type.Union([Type.Integer({ minimum: 1 }), Type.Literal(-1)], {
    description: `Maximum number of tokens to generate; values above ${LIMITS.newTokens}, and -1, mean ${LIMITS.newTokens}.`,
  }),
)
/** Empty: none. */
const stopText = Type.String({ maxLength: LIMITS.stopCharacters })

/** Other fields pass the schema: `unread` rejects those that would change the answer. */
export const ChatRequestSchema = Type.Object({
  model: Type.String({ minLength: 1, maxLength: 512 }),
  messages: Type.Array(MessageSchema, {
    minItems: 1,
    maxItems: OPENAI_LIMITS.messages,
    description: `The last message is the question (${LIMITS.questionCharacters} characters at most). Earlier ones go into the chat template; without one, a follow-up is rewritten and system messages are ignored.`,
  }),
  stream: optionalOrNull(Type.Boolean()),
  stream_options: optionalOrNull(Type.Object({ include_usage: Type.Optional(Type.Boolean()) })),
  n: optionalOrNull(Type.Integer({ minimum: 1, maximum: 1, description: 'One answer.' })),
  max_tokens: mostTokens,
  max_completion_tokens: mostTokens,
  temperature: optionalOrNull(Type.Number({ minimum: 0, maximum: 10, description: 'Sampling temperature. Default: 0, greedy decoding.' })),
  top_p: optionalOrNull(Type.Number({ minimum: 0, maximum: 1 })),
  top_k: optionalOrNull(Type.Integer({ minimum: -1, description: 'Sample from this many most probable tokens; 0 and -1 mean all.' })),
  stop: optionalOrNull(Type.Union([stopText, Type.Array(stopText, { ...stop, items: stopText })])),
  seed: optionalOrNull(
    Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER, description: 'Seed of sampling, modulo 2^32.' }),
  ),
  logprobs: optionalOrNull(Type.Boolean({ description: "Return the log-probabilities of the answer's tokens. Default: false." })),
  top_logprobs: optionalOrNull(
    Type.Integer({ minimum: 0, maximum: LIMITS.topTokens, description: 'Number of alternatives to return per token. Requires logprobs.' }),
  ),
  response_format: optionalOrNull(FormatSchema),
  cepe: Type.Optional(ExtensionSchema),
})
export type ChatRequest = Static<typeof ChatRequestSchema>

const UsageSchema = Type.Object({ prompt_tokens: Type.Integer(), completion_tokens: Type.Integer(), total_tokens: Type.Integer() })

const chance = { token: Type.String(), logprob: Type.Number(), bytes: Type.Array(Type.Integer()) }
const LogprobsSchema = orNull(
  Type.Object({ content: Type.Array(Type.Object({ ...chance, top_logprobs: Type.Array(Type.Object(chance)) })), refusal: Type.Null() }),
  'With logprobs: the tokens of the answer; their concatenated texts are the answer.',
)

const { question, reason, extract, probability_correct, abstained, mode: usedMode, timings_ms, index } = AnswerResponseSchema.properties

export const ChatResponseSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('chat.completion'),
  created: Type.Integer(),
  model: Type.String(),
  choices: Type.Array(
    Type.Object({
      index: Type.Integer(),
      message: Type.Object({
        role: Type.Literal('assistant'),
        content: orNull(
          Type.String(),
          'The answer. Without one: the reason and the most similar sentence, or null with a response_format.',
        ),
        refusal: orNull(Type.String(), 'Why there is no answer.'),
        annotations: AnnotationsSchema,
      }),
      logprobs: LogprobsSchema,
      finish_reason: Type.Union([Type.Literal('stop'), Type.Literal('length')]),
    }),
  ),
  usage: UsageSchema,
  cepe: Type.Object({
    question,
    reason,
    extract,
    evidence: Type.Array(EvidenceSchema),
    confidence: Type.Number(),
    probability_correct,
    abstained,
    mode: usedMode,
    timings_ms,
    index,
    ignored: Type.Optional(
      Type.Array(Type.String(), { description: 'Paths of fields without effect; the first 50 also in the header x-cepe-ignored.' }),
    ),
  }),
})
export type ChatResponse = Static<typeof ChatResponseSchema>

export const EmbeddingsRequestSchema = Type.Object({
  model: Type.String({ minLength: 1, maxLength: 512 }),
  input: Type.Unknown({
    description: `A text or a list of up to ${OPENAI_LIMITS.inputs} texts of up to ${OPENAI_LIMITS.inputCharacters} characters. Token ids are not accepted.`,
  }),
  encoding_format: optionalOrNull(Type.Enum(['float', 'base64'])),
  dimensions: optionalOrNull(Type.Integer({ minimum: 1, description: "Number of dimensions; must equal the model's." })),
  truncate: optionalOrNull(
    Type.Boolean({ description: "Embed the beginning of texts beyond the model's window. Default: false, reject them." }),
  ),
})
export type EmbeddingsRequest = Static<typeof EmbeddingsRequestSchema>

export const EmbeddingsResponseSchema = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(
    Type.Object({
      object: Type.Literal('embedding'),
      index: Type.Integer(),
      embedding: Type.Union([Type.Array(Type.Number()), Type.String({ description: 'Little-endian float32, in base64.' })]),
    }),
  ),
  model: Type.String(),
  usage: Type.Object({ prompt_tokens: Type.Integer(), total_tokens: Type.Integer() }),
})

export const ModelSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('model'),
  created: Type.Integer(),
  owned_by: Type.String(),
})
export const ModelListSchema = Type.Object({ object: Type.Literal('list'), data: Type.Array(ModelSchema) })

const { model, stream, temperature, top_p, top_k, cepe, max_tokens } = ChatRequestSchema.properties

const InputItemSchema = Type.Object({
  type: Type.Optional(Type.String({ maxLength: 64, description: 'Only message is accepted. Default: message.' })),
  ...ChatRequestSchema.properties.messages.items.properties,
  role: Type.Optional(ChatRequestSchema.properties.messages.items.properties.role),
})

/** Other fields pass the schema: `unread` rejects those that would change the answer. */
export const ResponsesRequestSchema = Type.Object({
  model,
  input: Type.Union([Type.String(), Type.Array(InputItemSchema, { minItems: 1, maxItems: OPENAI_LIMITS.messages })], {
    description: 'The question, or messages of which the last is the question, as in POST /v1/chat/completions.',
  }),
  instructions: optionalOrNull(Type.String(), 'A system message placed before the input.'),
  stream,
  max_output_tokens: max_tokens,
  text: optionalOrNull(Type.Object({ format: optionalOrNull(ResponsesFormatSchema) })),
  temperature,
  top_p,
  top_k,
  cepe,
})
export type ResponsesRequest = Static<typeof ResponsesRequestSchema>

const CitedSchema = Type.Object({ type: Type.Literal('url_citation'), ...CitationSchema.properties })
const ContentSchema = Type.Union([
  Type.Object({
    type: Type.Literal('output_text'),
    text: Type.String(),
    annotations: Type.Array(CitedSchema, { description: 'See POST /v1/chat/completions.' }),
    logprobs: Type.Array(Type.Null(), { maxItems: 0 }),
  }),
  Type.Object({ type: Type.Literal('refusal'), refusal: Type.String({ description: 'Why there is no answer.' }) }),
])
const ItemSchema = Type.Object({
  type: Type.Literal('message'),
  id: Type.String(),
  role: Type.Literal('assistant'),
  status: Type.Enum(['in_progress', 'completed', 'incomplete']),
  content: Type.Array(ContentSchema),
})

export const ResponsesResponseSchema = Type.Object({
  id: Type.String(),
  object: Type.Literal('response'),
  created_at: Type.Integer(),
  status: Type.Enum(['in_progress', 'completed', 'incomplete']),
  error: Type.Null(),
  incomplete_details: orNull(Type.Object({ reason: Type.Literal('max_output_tokens') })),
  instructions: orNull(Type.String()),
  model: Type.String(),
  output: Type.Array(ItemSchema),
  parallel_tool_calls: Type.Boolean(),
  previous_response_id: Type.Null(),
  temperature: orNull(Type.Number()),
  top_p: orNull(Type.Number()),
  text: Type.Object({ format: ResponsesFormatSchema }),
  tool_choice: Type.Literal('none'),
  tools: Type.Array(Type.Null(), { maxItems: 0 }),
  metadata: Type.Object({}),
  usage: orNull(
    Type.Object({
      input_tokens: Type.Integer(),
      input_tokens_details: Type.Object({ cached_tokens: Type.Integer() }),
      output_tokens: Type.Integer(),
      output_tokens_details: Type.Object({ reasoning_tokens: Type.Integer() }),
      total_tokens: Type.Integer(),
    }),
  ),
  cepe: Type.Optional(ChatResponseSchema.properties.cepe),
})
export type ResponsesResponse = Static<typeof ResponsesResponseSchema>
export type OutputItem = Static<typeof ItemSchema>
