import { setTimeout as delay } from 'node:timers/promises'
import type { Embed, EmbeddingModel } from '../index/contract.ts'
import { openIndex, type PassageIndex } from '../index/open.ts'
import type { Mirror } from '../index/table/mirror.ts'
import { formerModelId, modelId, type ContrieverManifest } from '../models/manifest.ts'
import { startWhole } from './closing.ts'
import { calibrationFiles } from './config.ts'
import type { Config } from './settings.ts'
import { CodedError } from '../base/errors.ts'
import { createReader } from './inference/pool/create-reader.ts'
import type { Supervised } from './inference/pool/process-options.ts'
import type { ReadinessCheck } from './http/routes/health.ts'
import type { ProcessStatus } from './http/work-metrics.ts'
import { createAdmission } from './inference/pool/admission.ts'
import { createEmbedder } from './inference/pool/create-embedder.ts'
import { absentReader } from './inference/pool/absent-reader.ts'
import type { Log } from './inference/log.ts'
import { loadCepeManifest, loadContrieverManifest } from '../models/folder.ts'
import { DEFAULT_DRAIN_MS } from './inference/pool/contract.ts'
import type { DocumentParser } from './documents/contract.ts'
import { createDocumentParser } from './documents/parser.ts'
import { startAheadFollower, type AheadFollower } from './jobs/ahead-follower.ts'
import { bulkEmbed } from './jobs/bulk-embed.ts'
import { noJobs } from './jobs/no-jobs.ts'
import { createJobs, type Jobs, type JobsOptions } from './jobs/jobs.ts'
import { chooseCalibration } from './rag/calibration/choose.ts'
import type { DocumentServices } from './rag/document.ts'
import type { AnswerServices } from './rag/pipeline.ts'
import { startTestQuestion, type TestQuestion } from './rag/test-question.ts'
import { loadDemonstrations } from './rag/demonstrations.ts'
import { loadTokenizer } from './text/tokenizer.ts'
import type { Embedder } from './inference/contract.ts'
import { observedReader } from './inference/observed-reader.ts'
import { indexCheck, processCheck, processStatus, storeCheck } from './conditions.ts'
import { checkChatTemplate, documentDefaults, openReader, processOptions, readerOptions } from './open-reader.ts'
import { jobsDir, makeFolders } from './places.ts'
import { mirrorOf, reachStore } from './stores.ts'
import { openKeys, type Keys } from './keys/keys.ts'
import { createQuotas, type Quotas } from './keys/quota.ts'

/** Everything that the HTTP application and the commands work with. */
export interface Services {
  readonly answering: AnswerServices
  readonly documents: { readonly services: DocumentServices; readonly parser: DocumentParser }
  readonly embedder: Embedder
  /** Tokens that the retriever reads of a text. */
  readonly countTokens: (text: string) => number
  readonly index: PassageIndex
  readonly jobs: Jobs
  readonly keys: Keys
  readonly readiness: () => Promise<readonly ReadinessCheck[]>
  readonly processes: () => readonly ProcessStatus[]
  /** Finishes accepted work for `drainMs` (default 30 s) at most, refuses what is left, and ends every process. */
  close(options?: { readonly drainMs?: number }): Promise<void>
}

/** The composition root: the only place where processes, the index and the pipeline are constructed and joined. */
export async function createServices(config: Config, log?: Log): Promise<Services> {
  try {
    return await joinServices(config, log)
  } catch (error) {
    if (!(config.CPU_FALLBACK && config.PROVIDER === 'cuda' && error instanceof CodedError && error.code === 'provider_unavailable'))
      throw error
    log?.('warn', `${error.message} Running on the CPU, as CEPE_CPU_FALLBACK allows.`)
    return joinServices({ ...config, PROVIDER: 'cpu' }, log)
  }
}

function joinServices(config: Config, log: Log | undefined): Promise<Services> {
  return startWhole(async (closing) => {
    await (config.ROLE === 'replica' ? reachStore(config, log) : makeFolders(config))
    // What is quick to find wrong comes before the processes, whose models may take minutes to load.
    const demonstrations = config.DEMONSTRATIONS === '' ? [] : await loadDemonstrations(config.DEMONSTRATIONS)
    const keys = await openKeys({ dir: config.KEYS_DIR, ...(log && { log }) })
    closing.add(() => keys.close())
    const quotas = await createQuotas({ dir: config.KEYS_DIR, keys, ...(log && { log }) })
    closing.add(() => quotas.close())
    const mirror = await mirrorOf(config, log)
    closing.add(() => mirror?.close())
    const index = await openPassages(config, await loadContrieverManifest(config.RETRIEVER_DIR), log)
    closing.add(() => index.close())
    const answers = config.ROLE !== 'indexer'
    const calibration = answers
      ? await chooseCalibration(calibrationFiles(config), modelId(await loadCepeManifest(config.READER_DIR)), log)
      : undefined
    if (answers) await checkChatTemplate(config)
    const embedder = await createEmbedder({ ...processOptions(config, log), modelDir: config.RETRIEVER_DIR })
    closing.add(() => embedder.close({ drainMs: 0 }))
    const { reader, places } = answers ? await openReader(config, log) : { reader: await absentReader(), places: 1 }
    closing.add(() => reader.close({ drainMs: 0 }))
    const answering: AnswerServices = {
      reader: answers ? observedReader(reader) : reader,
      retriever: { embedder, index, method: config.RETRIEVAL },
      admission: quotas.around(createAdmission({ maxWaiting: config.QUEUE, places })),
      demonstrations,
      ...(calibration && { calibration }),
      minConfidence: config.MIN_CONFIDENCE,
      chatTemplate: config.CHAT_TEMPLATE,
    }
    const parser = createDocumentParser({ parseMs: config.DOCUMENT_PARSE_MS })
    closing.add(() => Promise.resolve(parser.close()))
    const ahead = config.ENCODE_AHEAD && answers ? startAheadFollower({ index, reader, ...(log && { log }) }) : undefined
    ahead?.follow()
    closing.add(() => ahead?.close())
    const jobs =
      config.ROLE === 'replica' ? noJobs : createJobs({ ...jobsOptions(config, index, embedder, log), onIndexed: () => ahead?.follow() })
    const countTokens = await tokenCounter(config.RETRIEVER_DIR, embedder.manifest)
    const finishedRuns = (): number => reader.status().finished + embedder.status().finished
    const testQuestion = answers ? startTestQuestion({ services: answering, finishedRuns, ...(log && { log }) }) : undefined
    const parts = { answers, reader, embedder, index, jobs, keys, quotas, parser, mirror, ahead, testQuestion }
    return {
      answering,
      documents: { services: { reader, admission: answering.admission, ...documentDefaults(config) }, parser },
      embedder,
      countTokens,
      index,
      jobs,
      keys,
      readiness: () => readinessOf(parts),
      processes: () => [...(answers ? [processStatus('reader', reader.status())] : []), processStatus('embedder', embedder.status())],
      close: ({ drainMs = DEFAULT_DRAIN_MS } = {}) => closeParts(parts, drainMs),
    }
  })
}

/** What a service watches and ends. */
interface Parts {
  /** False where the reader stands for none. */
  readonly answers: boolean
  readonly reader: Supervised
  readonly embedder: Supervised
  readonly index: PassageIndex
  readonly jobs: Jobs
  readonly keys: Keys
  readonly quotas: Quotas
  readonly parser: DocumentParser
  readonly mirror: Mirror | undefined
  readonly ahead: AheadFollower | undefined
  readonly testQuestion: TestQuestion | undefined
}

function readinessOf({ answers, reader, embedder, index, testQuestion, mirror }: Parts): Promise<readonly ReadinessCheck[]> {
  return Promise.all([
    ...(answers ? [processCheck('reader', reader)] : []),
    processCheck('embedder', embedder),
    indexCheck(index),
    ...(testQuestion ? [testQuestion.check()] : []),
    ...(mirror ? [storeCheck(mirror)] : []),
  ])
}

async function closeParts(parts: Parts, drainMs: number): Promise<void> {
  const { reader, embedder, index, jobs, keys, quotas, ahead } = parts
  parts.testQuestion?.close()
  parts.mirror?.close()
  parts.parser.close()
  // A job at work ends with its batch, or with its embedder.
  const stopped = Promise.all([jobs.close(), ahead?.close()])
  await Promise.race([stopped, delay(drainMs, undefined, { ref: false })])
  await Promise.all([reader.close({ drainMs }), embedder.close({ drainMs })])
  await Promise.all([stopped, quotas.close()])
  keys.close()
  index.close()
}

/** @throws config_invalid where encoder states may take no disk */
export function requireStateDisk({ STATE_DISK_MB }: Config): void {
  if (STATE_DISK_MB > 0) return
  throw new CodedError('config_invalid', 'Set CEPE_STATE_DISK_MB to the disk that encoder states may take.', {
    field: 'CEPE_STATE_DISK_MB',
  })
}

/** The index and a reader that stores states, without the rest: for the shell. */
export async function createAheadEncoding(config: Config, log?: Log) {
  return startWhole(async (closing) => {
    const index = await openPassages(config, await loadContrieverManifest(config.RETRIEVER_DIR), log)
    closing.add(() => index.close())
    await index.info()
    const reader = await createReader(readerOptions(config, log))
    return {
      index,
      reader,
      close: async () => {
        await reader.close({ drainMs: 0 })
        index.close()
      },
    }
  })
}

/** The index and its jobs without the reader. */
export interface Indexing {
  readonly index: PassageIndex
  readonly jobs: Jobs
  close(): Promise<void>
}

/** For indexing from the shell and at the first start. The embedder is only started when a job needs it. */
export async function createIndexing(config: Config, log?: Log): Promise<Indexing> {
  await makeFolders(config)
  const embedder = await embedderOnDemand(config, log)
  const index = await openPassages(config, embedder.manifest, log)
  const jobs = createJobs(jobsOptions(config, index, embedder, log))
  return {
    index,
    jobs,
    close: async () => {
      await jobs.close()
      await embedder.close()
      index.close()
    },
  }
}

/** For embedding alone: passages as they are embedded for the index. */
export interface Embedding {
  readonly model: EmbeddingModel
  readonly embed: Embed
  close(): Promise<void>
}

/** Starts an embedder without an index. */
export async function createEmbedding(config: Config, log?: Log): Promise<Embedding> {
  const embedder = await createEmbedder({ ...processOptions(config, log), modelDir: config.RETRIEVER_DIR })
  return { model: embeddingModel(embedder.manifest), embed: bulkEmbed(embedder), close: () => embedder.close({ drainMs: 0 }) }
}

/** The model of passages and questions, without starting it. */
export async function configuredModel(config: Config): Promise<EmbeddingModel> {
  return embeddingModel(await loadContrieverManifest(config.RETRIEVER_DIR))
}

async function embedderOnDemand(config: Config, log: Log | undefined): Promise<Embedder & { close(): Promise<void> }> {
  const options = { ...processOptions(config, log), modelDir: config.RETRIEVER_DIR }
  let started: Promise<Embedder & Supervised> | undefined
  const start = (): Promise<Embedder & Supervised> =>
    (started ??= createEmbedder(options).catch((error: unknown) => {
      // What kept it from starting may have been mended when it is needed again.
      started = undefined
      throw error
    }))
  return {
    manifest: await loadContrieverManifest(options.modelDir),
    embed: async (texts, run) => (await start()).embed(texts, run),
    close: async () => {
      const embedder = await started?.catch(() => undefined)
      await embedder?.close()
    },
  }
}

function jobsOptions(config: Config, index: PassageIndex, embedder: Embedder, log: Log | undefined): JobsOptions {
  return {
    index,
    embedder,
    jobsDir: jobsDir(config),
    importDir: config.IMPORT_DIR,
    maxUploadBytes: config.UPLOAD_LIMIT_MB * 2 ** 20,
    policy: { exactBelow: config.EXACT_BELOW, minRecall: config.MIN_RECALL, keepMs: config.KEEP_VERSIONS_MIN * 60_000 },
    ...(log && { log }),
  }
}

function openPassages(config: Config, manifest: ContrieverManifest, log: Log | undefined): Promise<PassageIndex> {
  return openIndex({
    dir: config.ROLE === 'replica' ? (config.MIRROR_DIR ?? config.INDEX_DIR) : config.INDEX_DIR,
    readOnly: config.ROLE === 'replica',
    table: config.TABLE,
    keepMs: config.KEEP_VERSIONS_MIN * 60_000,
    model: embeddingModel(manifest),
    ...(log && { onWarning: (message: string) => log('warn', message) }),
  })
}

function embeddingModel(manifest: ContrieverManifest): EmbeddingModel {
  return { id: modelId(manifest), formerId: formerModelId(manifest), dimension: manifest.dims.hidden_size }
}

/** Counts what the retriever reads: a text's tokens up to its window, the two that frame them included. */
async function tokenCounter(modelDir: string, { dims: { window } }: ContrieverManifest): Promise<(text: string) => number> {
  const tokenizer = await loadTokenizer(modelDir, { bosId: null, eosIds: [] })
  return (text) => tokenizer.encode(text, { maxTokens: window - 2 }).length + 2
}
