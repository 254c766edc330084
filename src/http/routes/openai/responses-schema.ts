import { Type, type Static } from '#typebox'
import { CitationSchema } from './citations.ts'
import { ChatRequestSchema, ChatResponseSchema, OPENAI_LIMITS } from './schema.ts'

const { model, stream, temperature, top_p, top_k, cepe, max_tokens } = ChatRequestSchema.properties

const InputItemSchema = Type.Object({
  type: Type.Optional(Type.String({ maxLength: 64, description: 'Only message is accepted. Default: message.' })),
  ...ChatRequestSchema.properties.messages.items.properties,
})

/** Other fields pass the schema: `refuseUnread` rejects those that would change the answer. */
export const ResponsesRequestSchema = Type.Object({
  model,
  input: Type.Union([Type.String(), Type.Array(InputItemSchema, { minItems: 1, maxItems: OPENAI_LIMITS.messages })], {
    description: 'The question, or messages of which the last is the question, as in POST /v1/chat/completions.',
  }),
  instructions: Type.Optional(Type.Union([Type.String(), Type.Null()], { description: 'A system message placed before the input.' })),
  stream,
  max_output_tokens: max_tokens,
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
  incomplete_details: Type.Union([Type.Object({ reason: Type.Literal('max_output_tokens') }), Type.Null()]),
  instructions: Type.Union([Type.String(), Type.Null()]),
  model: Type.String(),
  output: Type.Array(ItemSchema),
  parallel_tool_calls: Type.Boolean(),
  previous_response_id: Type.Null(),
  temperature: Type.Union([Type.Number(), Type.Null()]),
  top_p: Type.Union([Type.Number(), Type.Null()]),
  text: Type.Object({ format: Type.Object({ type: Type.Literal('text') }) }),
  tool_choice: Type.Literal('none'),
  tools: Type.Array(Type.Null(), { maxItems: 0 }),
  metadata: Type.Object({}),
  usage: Type.Union([
    Type.Object({
      input_tokens: Type.Integer(),
      input_tokens_details: Type.Object({ cached_tokens: Type.Integer() }),
      output_tokens: Type.Integer(),
      output_tokens_details: Type.Object({ reasoning_tokens: Type.Integer() }),
      total_tokens: Type.Integer(),
    }),
    Type.Null(),
  ]),
  cepe: Type.Optional(ChatResponseSchema.properties.cepe),
})
export type ResponsesResponse = Static<typeof ResponsesResponseSchema>
export type OutputItem = Static<typeof ItemSchema>
