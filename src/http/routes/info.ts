import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type, type Static } from 'typebox'
import { modelId } from '../../../models/manifest.ts'
import type { Calibration } from '../../rag/calibration/calibration.ts'
import type { AnswerServices } from '../../rag/pipeline.ts'
import type { IndexVersion } from '../../rag/retrieve.ts'
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
  calibration: Type.Union(
    [
      Type.Object({
        fitted_at: Type.String(),
        answers: Type.Integer({ description: 'That it was fitted on.' }),
        index: IndexVersionSchema,
        same_index: Type.Boolean({
          description: 'False where it was fitted on another table, another number of passages, or another retriever than serves now.',
        }),
        ece: Type.Number({ description: 'Expected calibration error, cross-validated.' }),
        auroc: number,
      }),
      Type.Null(),
    ],
    { description: 'What probability_correct comes from; null where the reader has no calibration.' },
  ),
  min_confidence: number,
  modes: Type.Array(Type.String()),
  methods: Type.Array(Type.String()),
  limits: Type.Object({
    question_characters: number,
    k: number,
    passages: number,
    new_tokens: number,
    context_tokens: number,
    deadline_ms: number,
    dropped_passages: number,
  }),
})

export interface InfoOptions {
  readonly services: AnswerServices
  readonly version: string
  readonly deadlineMs: number
}

/** GET /v1/info: what answers here, and within which limits. */
export const infoRoute: FastifyPluginAsyncTypebox<InfoOptions> = (app, { services, version, deadlineMs }) => {
  const { reader, retriever, calibration, minConfidence = 0 } = services
  const { dtype, parameters, dims, qa_defaults: defaults } = reader.manifest
  const { manifest } = retriever.embedder
  app.get(
    '/v1/info',
    { schema: { tags: ['operations'], summary: 'Models, index and limits', response: { 200: InfoSchema } } },
    async () => {
      const index = await retriever.index.version().catch(() => null)
      return {
        version,
        reader: { id: modelId(reader.manifest), dtype, parameters, window: dims.window, defaults },
        retriever: {
          id: modelId(manifest),
          dtype: manifest.dtype,
          dimension: manifest.dims.hidden_size,
          method: retriever.method ?? 'dense',
        },
        index,
        calibration: calibration ? describeCalibration(calibration, modelId(manifest), index) : null,
        min_confidence: minConfidence,
        modes: [...MODES],
        methods: [...METHODS],
        limits: {
          question_characters: LIMITS.questionCharacters,
          k: LIMITS.k,
          passages: LIMITS.suppliedPassages,
          new_tokens: LIMITS.newTokens,
          context_tokens: LIMITS.contextTokens,
          deadline_ms: deadlineMs,
          dropped_passages: LIMITS.droppedPassages,
        },
      }
    },
  )
  return Promise.resolve()
}

function describeCalibration(
  { fitted_at, retriever, index: fitted, asked: { answers }, cross_validated }: Calibration,
  servingRetriever: string,
  serving: IndexVersion | null,
): Static<typeof InfoSchema>['calibration'] {
  return {
    fitted_at,
    answers,
    index: fitted,
    same_index: retriever === servingRetriever && fitted.table === serving?.table && fitted.passages === serving.passages,
    ece: cross_validated.probability.ece,
    auroc: cross_validated.probability.auroc,
  }
}
