import { Type, type Static } from 'typebox'
import { modelId, weightsOf } from '../../../models/manifest.ts'
import { type Calibration, ReaderDefaultsSchema } from '../../rag/calibration.ts'
import { LEAST_PROBABILITY } from '../../rag/confidence.ts'
import { orNull } from '../../text/fields.ts'
import { readerDefaults } from '../../rag/resolve-request.ts'
import { type AnswerServices, inCollection } from '../../rag/pipeline.ts'
import { type IndexVersion, IndexVersionSchema, LIMITS, METHODS, MethodSchema } from '../../rag/schema.ts'
import { MODES } from '../../text/plan.ts'
import { ROLES } from '../../keys/record.ts'
import { errorResponses } from '../errors/error-body.ts'
import { CollectionNameSchema } from '../../../index/table-name.ts'
import { corpusTexts } from '../page/corpus-text.ts'
import { ProblemSchema, shownProblem } from './collections.ts'
import { ReadinessCheckSchema, type Routes } from './context.ts'
import { allEmbedders, describeRetriever, servingEmbedder } from '../observability/models.ts'

const number = Type.Number()
const RetrieverFields = { id: Type.String(), dtype: Type.String(), dimension: number }
export const InfoSchema = Type.Object({
  version: Type.String({ description: 'Version of the service.' }),
  key: orNull(Type.Object({ name: Type.String(), role: Type.Enum([...ROLES]) }), "Name of this request's key; null without a valid one."),
  feedback: Type.Boolean({ description: 'Whether feedback on answers is stored (CEPE_FEEDBACK).' }),
  files: Type.Boolean({ description: 'Whether the files of passages can be downloaded (CEPE_SERVE_FILES).' }),
  reader: Type.Object({
    id: Type.String(),
    weights: Type.String({ description: 'Digest of weights and tokenizer; a calibration holds for all builds that share it.' }),
    dtype: Type.String(),
    parameters: number,
    window: Type.Integer({ description: 'Context window of the decoder in tokens, prompt and answer.' }),
    defaults: ReaderDefaultsSchema,
  }),
  retriever: Type.Object({ ...RetrieverFields, method: MethodSchema }, { description: 'Id of the model that embeds questions.' }),
  retrievers: Type.Array(Type.Object({ ...RetrieverFields, serves: Type.Boolean({ description: 'Model id of the table in service.' }) }), {
    description: 'Ids of all loaded retrievers; tables of any of them can be searched.',
  }),
  index: orNull(IndexVersionSchema, 'null if there is no index yet.'),
  corpus: Type.Object(
    {
      title: Type.String(),
      about: Type.String({ description: 'One sentence on the content of the corpus.' }),
      questions: Type.Array(Type.String(), { description: 'Example questions.' }),
    },
    { description: 'Corpus description shown on the page: from settings, else from titles.' },
  ),
  newer_table: orNull(ProblemSchema, 'Why this process does not serve the newest table; null if it does.'),
  calibration: orNull(
    Type.Object({
      fitted_at: Type.String(),
      answers: Type.Integer({ description: 'Number of answers used for fitting.' }),
      index: IndexVersionSchema,
      same_index: Type.Boolean({ description: 'False if fitted with another table, number of passages or retriever than in service.' }),
      ece: Type.Number({ description: 'Expected calibration error, cross-validated.' }),
      auroc: number,
    }),
    'Calibration behind probability_correct; null if the reader has none.',
  ),
  min_confidence: number,
  modes: Type.Array(Type.String(), { description: 'Modes that this reader supports.' }),
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

/** GET /v1/info: models, index and limits of the service. */
export const infoRoutes: Routes = (app, { services, access, version, config, files }) => {
  const { answering } = services
  const { reader, calibration, minConfidence = calibration ? LEAST_PROBABILITY : 0 } = answering
  const corpusText = corpusTexts(config, services.index)
  const schema = {
    tags: ['operations'],
    operationId: 'getInfo',
    summary: 'Models, index and limits',
    querystring: Type.Object({ collection: Type.Optional(CollectionNameSchema) }),
    response: { 200: InfoSchema, ...errorResponses(404) },
  }
  app.get('/v1/info', { schema }, async (request) => {
    const { holder, query } = request
    const { retriever } = await inCollection(access.answering(request), query.collection)
    const named = query.collection ?? access.implied(request)
    const own = named === undefined ? undefined : await access.index(request, named).catch(() => undefined)
    const index = await retriever.index
      .view()
      .then((table) => table.version())
      .catch(() => null)
    const { manifest } = await servingEmbedder(retriever)
    const unread = named === undefined ? services.newerTable() : own?.behind()
    const known = calibration && access.mayUse(request, calibration.index.table) ? calibration : undefined
    return {
      version,
      key: holder && { name: holder.name, role: holder.role },
      feedback: config.FEEDBACK !== undefined,
      files: files !== undefined,
      reader: describeReader(answering),
      retriever: { ...describeRetriever(manifest), method: retriever.method ?? 'dense' },
      retrievers: allEmbedders(retriever).map((one) => ({
        ...describeRetriever(one.manifest),
        serves: index !== null && one.manifest === manifest,
      })),
      index,
      corpus: await corpusText(index, own),
      newer_table: shownProblem(request, unread),
      calibration: known ? describeCalibration(known, modelId(manifest), index) : null,
      min_confidence: minConfidence,
      modes: MODES.filter((mode) => mode !== 'cepe' || reader.manifest.graphs.encoder !== null),
      methods: [...METHODS],
      limits: {
        question_characters: LIMITS.questionCharacters,
        k: LIMITS.k,
        passages: LIMITS.suppliedPassages,
        new_tokens: LIMITS.newTokens,
        context_tokens: LIMITS.contextTokens,
        dropped_passages: LIMITS.droppedPassages,
        deadline_ms: config.DEADLINE_MS,
      },
    }
  })
}

function describeReader({ reader: { manifest }, demonstrations, chatTemplate }: AnswerServices): Static<typeof InfoSchema>['reader'] {
  const { dtype, parameters, dims } = manifest
  const defaults = readerDefaults(manifest, demonstrations, chatTemplate)
  return { id: modelId(manifest), weights: weightsOf(manifest), dtype, parameters, window: dims.window, defaults }
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

const RETRY_AFTER_S = 5
const ReadySchema = Type.Object({ ready: Type.Boolean(), checks: Type.Array(ReadinessCheckSchema) }, { title: 'Readiness' })

/** GET /healthz: liveness. GET /readyz: readiness to answer questions. */
export const healthRoutes: Routes = (app, { services }) => {
  const tags = ['operations']
  const live = { 200: Type.Object({ status: Type.Literal('ok'), uptime_s: Type.Number() }) }
  const alive = { tags, operationId: 'getHealth', summary: 'Liveness', response: live }
  app.get('/healthz', { schema: alive, logLevel: 'warn' }, () => ({ status: 'ok' as const, uptime_s: Math.round(process.uptime()) }))

  const response = { 200: ReadySchema, 503: ReadySchema }
  const ready = { tags, operationId: 'getReadiness', summary: 'Readiness', response }
  app.get('/readyz', { schema: ready, logLevel: 'warn' }, async (_request, reply) => {
    const checks = (await services.readiness()).map(({ name, ok, detail }) => ({ name, ok, detail: app.publicText(detail) }))
    const ready = checks.every((check) => check.ok)
    if (!ready) void reply.header('retry-after', String(RETRY_AFTER_S))
    return reply.code(ready ? 200 : 503).send({ ready, checks })
  })
}
