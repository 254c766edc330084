/** The models of a service: retrievers with their embedders, the reader and the cross-encoder. */
import { invalidConfig, messageOf, reasonOf } from '../../base/errors.ts'
import type { EmbeddingModel } from '../../index/contract.ts'
import { loadCepeManifest, loadContrieverManifest } from '../../models/folder.ts'
import { modelId, modelOrigin, promptOf, weightsOf, type ContrieverManifest } from '../../models/manifest.ts'
import { calibrationFiles, furtherRetrievers } from '../config.ts'
import type { CountTokens } from '../http/routes/context.ts'
import type { Embedder, Embedders } from '../inference/contract.ts'
import type { Log } from '../inference/log.ts'
import { allotCores, usableCores } from '../inference/pool/allotment.ts'
import { createEmbedder, createReranker } from '../inference/pool/models/create-embedder.ts'
import { createReader, type ReaderOptions } from '../inference/pool/models/create-reader.ts'
import type { ProcessOptions, Supervised } from '../inference/pool/models/process-options.ts'
import { bulkEmbed } from '../inference/bulk-embed.ts'
import { chooseCalibration } from '../rag/calibration.ts'
import { loadDemonstrations } from '../rag/demonstrations.ts'
import type { DocumentDefaults } from '../rag/resolve-document.ts'
import { defaultPrompt } from '../rag/resolve-request.ts'
import type { Config } from '../settings.ts'
import { chatWrap } from '../text/chat-template.ts'
import { loadTokenizer, readTokenizerConfig } from '../text/tokenizer.ts'
import type { Part, Parts } from './parts.ts'
import { statesDir } from './storage.ts'

/** [CLS] and [SEP]. */
const FRAMING_TOKENS = 2

/** Built retrievers; the first is that of new tables. */
type RetrieverFolders = Awaited<ReturnType<typeof configuredRetrievers>>
/** A built retriever, and the model as the index sees it. */
type RetrieverFolder = Awaited<ReturnType<typeof retrieverIn>>

/** The configured retrievers, without duplicates. @throws model_invalid, config_invalid */
export async function configuredRetrievers(config: Config) {
  const first = await retrieverIn(config.RETRIEVER_DIR)
  const others: RetrieverFolder[] = []
  for (const found of await furtherFolders(config))
    if ([first, ...others].every(({ model }) => model.id !== found.model.id)) others.push(found)
  return { first, others, model: first.model, furtherModels: others.map(({ model }) => model) }
}

/** The further retrievers, in order. @throws config_invalid */
export function furtherFolders(config: Config): Promise<RetrieverFolder[]> {
  const folders = furtherRetrievers(config).map((dir) =>
    retrieverIn(dir).catch((cause: unknown) => {
      throw invalidConfig('CEPE_FURTHER_RETRIEVERS', `CEPE_FURTHER_RETRIEVERS: ${reasonOf(cause)}, or take it out of the list.`, cause)
    }),
  )
  return Promise.all(folders)
}

async function retrieverIn(dir: string) {
  const manifest = await loadContrieverManifest(dir)
  return { dir, manifest, model: embeddingModel(manifest) }
}

function embeddingModel(manifest: ContrieverManifest): EmbeddingModel {
  return { id: modelId(manifest), dimension: manifest.dims.hidden_size, origin: modelOrigin(manifest) }
}

/** Starts the embedders of all folders, one after the other. */
export async function embeddersOf<One extends Embedder>(
  { first, others }: RetrieverFolders,
  make: (folder: RetrieverFolder) => One | Promise<One>,
): Promise<Required<Embedders<One>>> {
  const embedder = await make(first)
  const further = new Map<string, One>()
  for (const folder of others) further.set(folder.model.id, await make(folder))
  return { embedder, further }
}

/**
 * countTokens: tokens of a text for a retriever, framing tokens included, up to one more than its window. unreadTokens: tokens of a passage beyond
 * what retriever or reader reads.
 * @param contextTokens tokens of a passage that the reader keeps
 */
export async function tokenCounters({ first, others }: RetrieverFolders, contextTokens = Infinity) {
  const tokenizerOf = async ({ dir, manifest }: RetrieverFolder) => {
    const tokenizer = await loadTokenizer(dir)
    const most = manifest.dims.window - FRAMING_TOKENS
    return { tokenizer, most, mostOfPassage: most - tokenizer.encode(promptOf(manifest, 'passage')).length }
  }
  const own = await tokenizerOf(first)
  const further = new Map(await Promise.all(others.map(async (folder) => [folder.model.id, await tokenizerOf(folder)] as const)))
  const countTokens: CountTokens = (text, model) => {
    const { tokenizer, most } = further.get(model) ?? own
    return tokenizer.encode(text, { maxTokens: most + 1 }).length + FRAMING_TOKENS
  }
  const unreadTokens: CountTokens = (text, model) => {
    const { tokenizer, mostOfPassage } = further.get(model) ?? own
    return Math.max(0, tokenizer.encode(text).length - Math.min(mostOfPassage, contextTokens))
  }
  return { countTokens, unreadTokens }
}

export function startEmbedder(dir: string, config: Config, log?: Log): Promise<Embedder & Supervised> {
  return createEmbedder({ ...processOptions(config, log), modelDir: dir })
}

/** An embedder whose process starts when it is first used. */
export function embedderOnDemand({ dir, manifest }: RetrieverFolder, config: Config, log?: Log): Embedder & Part {
  let started: Promise<Embedder & Supervised> | undefined
  const start = (): Promise<Embedder & Supervised> =>
    (started ??= startEmbedder(dir, config, log).catch((error: unknown) => {
      // A failure may be fixed by the time it is needed again.
      started = undefined
      throw error
    }))
  return {
    manifest,
    embed: async (texts, run) => (await start()).embed(texts, run),
    close: async (options) => (await started?.catch(() => undefined))?.close(options),
  }
}

/** Starts the embedder of new tables without an index. */
export async function openEmbedding(config: Config, log?: Log) {
  const embedder = await startEmbedder(config.RETRIEVER_DIR, config, log)
  return { model: embeddingModel(embedder.manifest), embed: bulkEmbed(embedder), close: () => embedder.close({ drainMs: 0 }) }
}

/** Where models run. */
export function deviceOptions({ THREADS, PROVIDER, DEVICE_ID: deviceId }: Config): Pick<ProcessOptions, 'threads' | 'provider'> {
  return { threads: THREADS ?? usableCores(), provider: PROVIDER === 'cuda' ? { name: 'cuda', deviceId } : { name: 'cpu' } }
}

function processOptions(config: Config, log?: Log): Omit<ProcessOptions, 'modelDir'> {
  return {
    ...deviceOptions(config),
    maxQueue: config.QUEUE,
    maxRunMs: config.MAX_RUN_MS,
    log,
  }
}

/** Opens the models that answer: the reader, with as many processes as cores and model size allow, and the cross-encoder, if configured. */
export async function openReaders(config: Config, parts: Parts, log?: Log) {
  const { RERANKER_DIR: modelDir, READERS, THREADS } = config
  const reranker = modelDir === '' ? undefined : parts.add(await createReranker({ ...processOptions(config, log), modelDir }))
  const { parameters } = await loadCepeManifest(config.READER_DIR)
  const { readers, threads } = allotCores({ cores: usableCores(), parameters, readers: READERS, threads: THREADS })
  const reader = parts.add(await createReader({ ...readerOptions(config, log), children: readers, threads }))
  return { reader, reranker, concurrency: readers, contextTokens: reader.manifest.qa_defaults.context_tokens }
}

/** Options of a reader, independent of the number of processes. */
export function readerOptions(config: Config, log?: Log): ReaderOptions {
  const { STATE_DISK_MB: diskMb } = config
  return {
    ...processOptions(config, log),
    modelDir: config.READER_DIR,
    promptCacheBytes: config.PROMPT_CACHE_MB * 2 ** 20,
    stateCacheBytes: config.STATE_CACHE_MB * 2 ** 20,
    stateDtype: config.STATE_DTYPE,
    ...(diskMb > 0 && { stateDisk: { dir: statesDir(config), maxBytes: diskMb * 2 ** 20 } }),
    replugBytes: config.REPLUG_MB * 2 ** 20,
  }
}

export function documentDefaults(config: Config): DocumentDefaults {
  return { documentTokens: config.DOCUMENT_TOKENS, chatTemplate: config.CHAT_TEMPLATE ?? 'none' }
}

/** How answers are asked for and judged by default, as a service and an evaluation have it. @throws config_invalid */
export async function answerDefaults(config: Config, log?: Log) {
  const demonstrations = config.DEMONSTRATIONS === '' ? [] : await loadDemonstrations(config.DEMONSTRATIONS)
  const manifest = await loadCepeManifest(config.READER_DIR)
  const templates = await chatTemplates(config, log)
  const prompt = defaultPrompt(manifest, demonstrations, templates.chatTemplate)
  const judged = { reader: modelId(manifest), weights: weightsOf(manifest), ...prompt }
  return {
    demonstrations,
    calibration: await chooseCalibration(calibrationFiles(config), judged, log),
    minConfidence: config.MIN_CONFIDENCE,
    ...templates,
  }
}

/** Default chat templates of prompts and of chats. @throws config_invalid if the model's own template is configured and not usable */
async function chatTemplates({ CHAT_TEMPLATE: wanted, READER_DIR: dir }: Config, log?: Log) {
  if (wanted !== undefined && wanted !== 'tokenizer') return { chatTemplate: wanted, chatRouteTemplate: wanted }
  const config = await readTokenizerConfig(dir)
  try {
    chatWrap('tokenizer', config)
  } catch (error) {
    if (wanted !== undefined) throw invalidConfig('CEPE_CHAT_TEMPLATE', `CEPE_CHAT_TEMPLATE: ${messageOf(error)}`, error)
    if ('chat_template' in config) log?.('warn', `Chats are asked without the model's own template: ${messageOf(error)}`)
    return { chatTemplate: 'none', chatRouteTemplate: 'none' } as const
  }
  return { chatTemplate: wanted ?? 'none', chatRouteTemplate: 'tokenizer' } as const
}
