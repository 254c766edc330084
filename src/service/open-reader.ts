import { CodedError, messageOf } from '../../base/errors.ts'
import type { Log } from '../inference/log.ts'
import { loadCepeManifest } from '../../models/folder.ts'
import { modelId } from '../../models/manifest.ts'
import { calibrationFiles } from '../config.ts'
import { allotCores, usableCores } from '../inference/pool/allotment.ts'
import { createReranker } from '../inference/pool/models/create-reranker.ts'
import { createReader, type ReaderOptions } from '../inference/pool/models/create-reader.ts'
import type { ProcessOptions } from '../inference/pool/models/process-options.ts'
import type { Disposer } from './disposer.ts'
import { statesDir } from './paths.ts'
import { chooseCalibration } from '../rag/calibration/calibration.ts'
import type { DocumentDefaults } from '../rag/resolve-document.ts'
import type { Config } from '../settings.ts'
import { chatWrap } from '../text/chat-template.ts'
import { readTokenizerConfig } from '../text/tokenizer.ts'

/** Options of every inference process. */
export function processOptions(config: Config, log?: Log): Omit<ProcessOptions, 'modelDir'> {
  return {
    threads: config.THREADS ?? usableCores(),
    provider: config.PROVIDER === 'cuda' ? { name: 'cuda', deviceId: config.DEVICE_ID } : { name: 'cpu' },
    maxQueue: config.QUEUE,
    maxRunMs: config.MAX_RUN_MS,
    log,
  }
}

/** Opens the reader, with as many processes as cores and model size allow. */
export async function openReader(config: Config, log?: Log) {
  const { readers, threads } = allotCores({
    cores: usableCores(),
    parameters: (await loadCepeManifest(config.READER_DIR)).parameters,
    readers: config.READERS,
    threads: config.THREADS,
  })
  return { reader: await createReader({ ...readerOptions(config, log), children: readers, threads }), concurrency: readers }
}

/** Options of a reader, independent of the number of processes. */
export function readerOptions(config: Config, log?: Log): ReaderOptions {
  const { STATE_DISK_MB: diskMb } = config
  return {
    ...processOptions(config, log),
    modelDir: config.READER_DIR,
    stateCacheBytes: config.STATE_CACHE_MB * 2 ** 20,
    stateDtype: config.STATE_DTYPE,
    ...(diskMb > 0 && { stateDisk: { dir: statesDir(config), maxBytes: diskMb * 2 ** 20 } }),
    replugBytes: config.REPLUG_MB * 2 ** 20,
  }
}

/** Opens the cross-encoder, if configured; the disposer ends its process. */
export async function openReranker(config: Config, disposer: Pick<Disposer, 'add'>, log?: Log) {
  if (config.RERANKER_DIR === '') return undefined
  const reranker = await createReranker({ ...processOptions(config, log), modelDir: config.RERANKER_DIR })
  disposer.add(() => reranker.close({ drainMs: 0 }))
  return reranker
}

/** Default options of document questions. */
export function documentDefaults(config: Config): DocumentDefaults {
  return { documentTokens: config.DOCUMENT_TOKENS, chatTemplate: config.CHAT_TEMPLATE ?? 'none' }
}

/** How answers are asked for and judged by default, as a service and an evaluation have it. @throws config_invalid */
export async function answerDefaults(config: Config, log?: Log) {
  const reader = modelId(await loadCepeManifest(config.READER_DIR))
  return {
    calibration: await chooseCalibration(calibrationFiles(config), reader, log),
    minConfidence: config.MIN_CONFIDENCE,
    ...(await chatTemplates(config, log)),
  }
}

/**
 * Default chat templates of prompts and of chats.
 * @throws config_invalid if the model's own template is configured and not usable
 */
async function chatTemplates({ CHAT_TEMPLATE: wanted, READER_DIR: dir }: Config, log?: Log) {
  if (wanted !== undefined && wanted !== 'tokenizer') return { chatTemplate: wanted, chatRouteTemplate: wanted }
  const config = await readTokenizerConfig(dir)
  try {
    chatWrap('tokenizer', config)
  } catch (error) {
    if (wanted !== undefined)
      throw new CodedError('config_invalid', `CEPE_CHAT_TEMPLATE: ${messageOf(error)}`, { field: 'CEPE_CHAT_TEMPLATE', cause: error })
    if ('chat_template' in config) log?.('warn', `Chats are asked without the model's own template: ${messageOf(error)}`)
    return { chatTemplate: 'none', chatRouteTemplate: 'none' } as const
  }
  return { chatTemplate: wanted ?? 'none', chatRouteTemplate: 'tokenizer' } as const
}
