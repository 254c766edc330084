import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { openIndex, type PassageIndex } from '../index/open.ts'
import { formerModelId, modelId, type ContrieverManifest } from '../models/manifest.ts'
import { startWhole } from './closing.ts'
import type { Config } from './config.ts'
import { CodedError, messageOf } from '../base/errors.ts'
import type { ReadinessCheck } from './http/routes/health.ts'
import type { ProcessStatus } from './http/plugins/metrics.ts'
import { createAdmission } from './inference/pool/admission.ts'
import { createEmbedder } from './inference/pool/create-embedder.ts'
import { createReader, type ReaderOptions } from './inference/pool/create-reader.ts'
import type { Log } from './inference/log.ts'
import { readContrieverManifest } from './inference/model-folder.ts'
import { DEFAULT_DRAIN_MS, type PoolStatus } from './inference/pool/contract.ts'
import type { ProcessOptions, Supervised } from './inference/pool/process-options.ts'
import type { DocumentParser } from './documents/contract.ts'
import { createDocumentParser } from './documents/parser.ts'
import { createJobs, type Jobs, type JobsOptions } from './jobs/jobs.ts'
import type { DocumentServices } from './rag/document.ts'
import type { DocumentDefaults } from './rag/settle-document.ts'
import type { AnswerServices } from './rag/pipeline.ts'
import { startTestQuestion } from './rag/test-question.ts'
import { loadDemonstrations } from './rag/demonstrations.ts'
import { loadTokenizer } from './text/tokenizer.ts'
import type { Embedder } from './inference/contract.ts'

/** Everything that the HTTP application and the commands work with. */
export interface Services {
  readonly answering: AnswerServices
  readonly documents: { readonly services: DocumentServices; readonly parser: DocumentParser }
  readonly embedder: Embedder
  /** Tokens that the retriever reads of a text. */
  readonly countTokens: (text: string) => number
  readonly index: PassageIndex
  readonly jobs: Jobs
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
    await makeFolders(config)
    // What is quick to find wrong comes before the processes, whose models may take minutes to load.
    const demonstrations = config.DEMONSTRATIONS === '' ? [] : await loadDemonstrations(config.DEMONSTRATIONS)
    const index = await openPassages(config, await readContrieverManifest(config.RETRIEVER_DIR), log)
    closing.add(() => index.close())
    const embedder = await createEmbedder({ ...processOptions(config, log), modelDir: config.RETRIEVER_DIR })
    closing.add(() => embedder.close({ drainMs: 0 }))
    await checkChatTemplate(config)
    const reader = await createReader(readerOptions(config, log))
    closing.add(() => reader.close({ drainMs: 0 }))
    const answering: AnswerServices = {
      reader,
      retriever: { embedder, index, method: config.RETRIEVAL },
      admission: createAdmission({ maxWaiting: config.QUEUE, places: config.READERS }),
      demonstrations,
      chatTemplate: config.CHAT_TEMPLATE,
    }
    const parser = createDocumentParser({ parseMs: config.DOCUMENT_PARSE_MS })
    closing.add(() => Promise.resolve(parser.close()))
    const jobs = createJobs(jobsOptions(config, index, embedder, log))
    const countTokens = await tokenCounter(config.RETRIEVER_DIR, embedder.manifest)
    const testQuestion = startTestQuestion({
      services: answering,
      finishedRuns: () => reader.status().finished + embedder.status().finished,
      ...(log && { log }),
    })
    return {
      answering,
      documents: { services: { reader, admission: answering.admission, ...documentDefaults(config) }, parser },
      embedder,
      countTokens,
      index,
      jobs,
      readiness: () =>
        Promise.all([processCheck('reader', reader), processCheck('embedder', embedder), indexCheck(index), testQuestion.check()]),
      processes: () => [processStatus('reader', reader.status()), processStatus('embedder', embedder.status())],
      close: async ({ drainMs = DEFAULT_DRAIN_MS } = {}) => {
        testQuestion.close()
        parser.close()
        // A job at work ends with its batch, or with its embedder.
        const stopped = jobs.close()
        await Promise.race([stopped, delay(drainMs, undefined, { ref: false })])
        await Promise.all([reader.close({ drainMs }), embedder.close({ drainMs })])
        await stopped
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
    manifest: await readContrieverManifest(options.modelDir),
    embed: async (texts, run) => (await start()).embed(texts, run),
    close: async () => {
      const embedder = await started?.catch(() => undefined)
      await embedder?.close()
    },
  }
}

/** Makes the folders that the index and its jobs write to. @throws config_invalid naming the setting of one that cannot be made */
async function makeFolders(config: Config): Promise<void> {
  for (const [setting, folder] of [
    ['CEPE_INDEX_DIR', config.INDEX_DIR],
    ['CEPE_JOBS_DIR', jobsDir(config)],
  ] as const)
    await mkdir(folder, { recursive: true }).catch((cause: unknown) => {
      throw new CodedError('config_invalid', `The folder ${folder} cannot be made (${messageOf(cause)}): set ${setting} to another.`, {
        field: setting,
        cause,
      })
    })
}

function jobsDir(config: Config): string {
  return config.JOBS_DIR ?? path.join(config.INDEX_DIR, 'jobs')
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

function processOptions(config: Config, log: Log | undefined): Omit<ProcessOptions, 'modelDir'> {
  return {
    threads: config.THREADS,
    provider: config.PROVIDER === 'cuda' ? { name: 'cuda', deviceId: config.DEVICE_ID } : { name: 'cpu' },
    maxQueue: config.QUEUE,
    maxRunMs: config.MAX_RUN_MS,
    ...(log && { log }),
  }
}

/** How the reader is started. */
export function readerOptions(config: Config, log?: Log): ReaderOptions {
  return {
    ...processOptions(config, log),
    modelDir: config.READER_DIR,
    children: config.READERS,
    stateCacheBytes: config.STATE_CACHE_MB * 2 ** 20,
    replugBytes: config.REPLUG_MB * 2 ** 20,
  }
}

export function documentDefaults(config: Config): DocumentDefaults {
  return { documentTokens: config.DOCUMENT_TOKENS, chatTemplate: config.CHAT_TEMPLATE }
}

/** @throws config_invalid where the model has no template of its own that could be used */
async function checkChatTemplate({ CHAT_TEMPLATE: template, READER_DIR: dir }: Config): Promise<void> {
  if (template !== 'tokenizer') return
  const tokenizer = await loadTokenizer(dir, { bosId: null, eosIds: [] })
  try {
    tokenizer.chatWrap(template)
  } catch (error) {
    throw new CodedError('config_invalid', `CEPE_CHAT_TEMPLATE: ${messageOf(error)}`, { field: 'CEPE_CHAT_TEMPLATE', cause: error })
  }
}

function openPassages(config: Config, manifest: ContrieverManifest, log: Log | undefined): Promise<PassageIndex> {
  return openIndex({
    dir: config.INDEX_DIR,
    table: config.TABLE,
    keepMs: config.KEEP_VERSIONS_MIN * 60_000,
    model: { id: modelId(manifest), formerId: formerModelId(manifest), dimension: manifest.dims.hidden_size },
    ...(log && { onWarning: (message: string) => log('warn', message) }),
  })
}

/** Counts what the retriever reads: a text's tokens up to its window, the two that frame them included. */
async function tokenCounter(modelDir: string, { dims: { window } }: ContrieverManifest): Promise<(text: string) => number> {
  const tokenizer = await loadTokenizer(modelDir, { bosId: null, eosIds: [] })
  return (text) => tokenizer.encode(text, { maxTokens: window - 2 }).length + 2
}

function processStatus(role: string, { queued, busy, ready, restarts }: PoolStatus): ProcessStatus {
  return { role, queued: queued.question + queued.long + queued.bulk, busy, ready, restarts }
}

function processCheck(name: string, process: Supervised): Promise<ReadinessCheck> {
  const { ready, restarts, lastError } = process.status()
  return Promise.resolve({ name, ok: ready > 0, detail: lastError ?? `${ready} ready, ${restarts} restarts` })
}

function indexCheck(index: PassageIndex): Promise<ReadinessCheck> {
  return index.info().then(
    ({ table, rows, version }) => ({ name: 'index', ok: true, detail: `table ${table}, version ${version}, ${rows} passages` }),
    (error: unknown) => ({ name: 'index', ok: false, detail: messageOf(error) }),
  )
}
