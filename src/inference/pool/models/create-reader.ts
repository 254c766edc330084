import type { AheadEncoder, AnswerRead, DocumentReader, GenerateRequest, Generator, Reader } from '../../contract.ts'
import type { CommonChildOptions, ReaderChildOptions } from '../../protocol.ts'
import { loadCepeManifest } from '../../../../models/folder.ts'
import type { CepeManifest } from '../../../../models/manifest.ts'
import { ALONE, encoderBatchTokens } from '../../batches.ts'
import { createPool, methodOf } from '../pool.ts'
import { type ProcessOptions, type Supervised, checkDevice, commonChildOptions } from './process-options.ts'
import type { Lane } from '../queue.ts'
import { checkGenerate, checkReplug, checkScore } from './requests.ts'
import { CodedError } from '../../../../base/errors.ts'

/** Logits of the step graph take vocabulary x 4 bytes each (LLaMA-2: 31 MiB in all). */
const PREFILL_TOKENS = 256
const STATE_CACHE_BYTES = 256 * 2 ** 20
const PROMPT_CACHE_BYTES = 128 * 2 ** 20
const REPLUG_BYTES = 512 * 2 ** 20

/** Default of batchTokens: {@link ALONE} on a CPU, {@link encoderBatchTokens} on a GPU. */
export type ReaderOptions = ProcessOptions & Partial<Omit<ReaderChildOptions, 'role' | keyof CommonChildOptions>>

/**
 * Starts reader processes.
 * @throws model_invalid, config_invalid or provider_unavailable where the model cannot be loaded
 * @example
 * ```ts
 * import { createReader } from './src/inference/pool/models/create-reader.ts'
 *
 * const reader = await createReader({ modelDir: 'models/built/cepe' })
 * const contexts = ['Document (Title: Aida): Aida is an opera by Verdi.']
 * const { tokenIds } = await reader.generate({ promptIds: [1, 2, 3], contexts, contextTokens: 256, maxNewTokens: 25, stopIds: [13] })
 * await reader.close()
 * ```
 */
export async function createReader(options: ReaderOptions): Promise<Reader & DocumentReader & Generator & AheadEncoder & Supervised> {
  const manifest = await loadCepeManifest(options.modelDir)
  const spareBytes = await checkDevice(manifest, options)
  const defaultTokens = options.provider?.name === 'cuda' ? encoderBatchTokens(manifest, spareBytes, options.children) : ALONE
  const { batchTokens = defaultTokens, prefillTokens = PREFILL_TOKENS, replugBytes = REPLUG_BYTES } = options
  const { promptCacheBytes = PROMPT_CACHE_BYTES, stateCacheBytes = STATE_CACHE_BYTES, stateDtype = 'f32', stateDisk = null } = options
  const states = { promptCacheBytes, stateCacheBytes, stateDtype, stateDisk }
  const reader = { role: 'reader', ...commonChildOptions(options), batchTokens, prefillTokens, replugBytes, ...states } as const
  const pool = await createPool({ ...options, options: reader })
  const inSteps = (): Lane => 'long'
  const unlessSampled = ({ sampling }: GenerateRequest): Lane => (sampling ? 'long' : 'question')
  const laneOf = ({ mode, sampling, grammar, topTokens = 0 }: AnswerRead): Lane =>
    mode === 'replug' || sampling || grammar || topTokens > 0 ? 'long' : 'question'
  return {
    manifest,
    answer: methodOf(pool, 'answer', laneOf),
    choices: methodOf(pool, 'choices', inSteps),
    likelihoods: methodOf(pool, 'likelihoods', inSteps),
    document: methodOf(pool, 'document', inSteps),
    generate: methodOf(pool, 'generate', unlessSampled, (request) => checkGenerate(request, manifest)),
    replug: methodOf(pool, 'replug', inSteps, (request) => checkReplug(request, manifest)),
    score: methodOf(pool, 'score', inSteps, (request) => checkScore(request, manifest)),
    encodeAhead: methodOf(pool, 'encodeAhead', () => 'bulk'),
    status: () => pool.status(),
    close: (closing) => pool.close(closing),
  }
}

function absent(): CodedError {
  return new CodedError('not_found', 'This process is an indexer, which has no reader: ask a replica.')
}

/** Stands where a process has no reader: no model is loaded, nothing is answered. */
export function absentReader(): Reader & DocumentReader {
  const refuse = (): Promise<never> => Promise.reject(absent())
  return {
    get manifest(): CepeManifest {
      throw absent()
    },
    answer: refuse,
    choices: refuse,
    likelihoods: refuse,
    document: refuse,
  }
}
