import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { modelId } from '../../../models/manifest.ts'
import type { AnswerServices } from '../../rag/pipeline.ts'
import { IndexVersionSchema, LIMITS, METHODS, MethodSchema } from '../../rag/schema.ts'
import { MODES } from '../../text/plan.ts'

const number = Type.Number()
const InfoSchema = Type.Object({
  version: Type.String({ description: 'Of the service.' }),
  reader: Type.Object({
    id: Type.String(),
    dtype: Type.String(),
    parameters: number,
    window: Type.Integer({ description: "Tokens of the decoder's prompt and answer." }),
    defaults: Type.Object({ k: number, k_decoder: number, demonstrations: number, context_tokens: number, max_new_tokens: number }),
  }),
  retriever: Type.Object({ id: Type.String(), dtype: Type.String(), dimension: number, method: MethodSchema }),
  index: Type.Union([IndexVersionSchema, Type.Null()], { description: 'null where there is no index yet.' }),
  modes: Type.Array(Type.String()),
  methods: Type.Array(Type.String()),
  limits: Type.Object({
    question_characters: number,
    k: number,
    passages: number,
    new_tokens: number,
    context_tokens: number,
    deadline_ms: number,
  }),
})

export interface InfoOptions {
  readonly services: AnswerServices
  readonly version: string
  readonly deadlineMs: number
}

/** GET /v1/info: what answers here, and within which limits. */
export const infoRoute: FastifyPluginAsyncTypebox<InfoOptions> = (app, { services: { reader, retriever }, version, deadlineMs }) => {
  const { dtype, parameters, dims, qa_defaults: defaults } = reader.manifest
  const { manifest } = retriever.embedder
  app.get(
    '/v1/info',
    { schema: { tags: ['operations'], summary: 'Models, index and limits', response: { 200: InfoSchema } } },
    async () => ({
      version,
      reader: { id: modelId(reader.manifest), dtype, parameters, window: dims.window, defaults },
      retriever: {
        id: modelId(manifest),
        dtype: manifest.dtype,
        dimension: manifest.dims.hidden_size,
        method: retriever.method ?? 'dense',
      },
      index: await retriever.index.version().catch(() => null),
      modes: [...MODES],
      methods: [...METHODS],
      limits: {
        question_characters: LIMITS.questionCharacters,
        k: LIMITS.k,
        passages: LIMITS.suppliedPassages,
        new_tokens: LIMITS.newTokens,
        context_tokens: LIMITS.contextTokens,
        deadline_ms: deadlineMs,
      },
    }),
  )
  return Promise.resolve()
}
