import path from 'node:path'
import { closing } from '../../base/files.ts'
import { CodedError, invalidConfig, invalidModel, reasonOf, osCode } from '../../base/errors.ts'
import { exists } from '../../base/exists.ts'
import type { PassageIndex } from '../../index/open.ts'
import { buildModel, isBuiltFrom } from '../../models/build.ts'
import { loadManifest, loadRerankerManifest } from '../../models/folder.ts'
import { checkFiles } from '../../models/integrity.ts'
import { MANIFEST_FILE, type Dtype } from '../../models/manifest.ts'
import { probeCuda } from '../inference/cuda/probe.ts'
import type { Log } from '../inference/log.ts'
import { retrieverDtype } from '../config.ts'
import type { Config } from '../settings.ts'
import { followJob, megabytes, type StartProgress } from './follow-job.ts'
import { isSettled } from '../jobs/record/schema.ts'
import { furtherFolders } from './models.ts'
import { checkPaths } from './storage.ts'
import { openCommand } from './indexing.ts'

/** Creates what is missing at a first start: built models, and the index of the configured corpus. @throws as {@link ensureReader} */
export async function ensureArtefacts(config: Config, startProgress: StartProgress, log?: Log): Promise<void> {
  await checkPaths(config)
  await ensureRetriever(config, startProgress)
  if (config.ROLE !== 'indexer') {
    if (config.RERANKER_DIR !== '') await checkReranker(config.RERANKER_DIR)
    await ensureReader(config, startProgress)
  }
  if (config.ROLE !== 'replica') await ensureIndex(config, startProgress, log)
}

/** Indexes the configured corpus if the table is missing; an interrupted first start is resumed. An existing table is left unchanged. */
async function ensureIndex(config: Config, startProgress: StartProgress, log: Log | undefined): Promise<void> {
  if (config.CORPUS === '') return
  await using indexing = closing(await openCommand(config, log))
  if (!(await isMissing(indexing.index))) return
  await indexing.jobs.start()
  const unfinished = (await indexing.jobs.list()).find((job) => job.source.path === config.CORPUS && !isSettled(job.state))
  const job = unfinished ?? (await indexing.jobs.addFile(config.CORPUS, { replace: true }))
  await followJob(indexing.jobs, job.id, startProgress)
}

function isMissing(index: PassageIndex): Promise<boolean> {
  return index.info().then(
    () => false,
    (error: unknown) => error instanceof CodedError && error.code === 'index_missing',
  )
}

/** @throws config_invalid if the folder holds no cross-encoder; model_invalid if it is damaged */
async function checkReranker(dir: string): Promise<void> {
  const manifest = await loadRerankerManifest(dir).catch((cause: unknown) => {
    throw invalidConfig('CEPE_RERANKER_DIR', `CEPE_RERANKER_DIR: ${reasonOf(cause)}, or unset it to rank with the reader.`, cause)
  })
  await checkFiles(dir, manifest)
}

/**
 * Builds the reader if it is missing, or was built from an earlier state of its checkpoint, in another precision or by an older builder. A
 * built model without its checkpoint is used as it is. Existing files are verified against the manifest.
 * @throws model_invalid if there is neither; config_invalid if the folder holds another checkpoint's model, which is never replaced;
 * model_invalid or checkpoint_invalid for a damaged model, or a checkpoint that cannot be built; provider_unavailable before a build for a CUDA
 * device that cannot be used
 */
export function ensureReader(config: Config, startProgress: StartProgress): Promise<void> {
  const { READER_CHECKPOINT: from, READER_DIR: to, DTYPE: dtype } = config
  return ensureModel({ setting: 'READER', from, to, dtype }, config, startProgress)
}

/** As {@link ensureReader}, for the retrievers, which are all that indexing needs. Further ones must be built already. */
export async function ensureRetriever(config: Config, startProgress: StartProgress): Promise<void> {
  for (const { dir, manifest } of await furtherFolders(config)) await checkFiles(dir, manifest)
  const { RETRIEVER_CHECKPOINT: from, RETRIEVER_DIR: to, PROVIDER } = config
  return ensureModel({ setting: 'RETRIEVER', from, to, dtype: retrieverDtype(from, PROVIDER) }, config, startProgress)
}

/** A model to build; its settings begin with `setting`. */
interface Wanted {
  readonly setting: 'READER' | 'RETRIEVER'
  readonly from: string
  readonly to: string
  readonly dtype: Dtype
}

async function ensureModel(wanted: Wanted, { PROVIDER, DEVICE_ID, CPU_FALLBACK }: Config, startProgress: StartProgress): Promise<void> {
  const { setting, from: checkpointDir, to: modelDir, dtype } = wanted
  const built = await loadManifest(modelDir).catch(() => undefined)
  if (checkpointDir === '' || !(await exists(checkpointDir.endsWith('.gguf') ? checkpointDir : path.join(checkpointDir, 'config.json')))) {
    if (built) return checkFiles(modelDir, built)
    // An existing manifest explains why the model cannot be served.
    if (await exists(path.join(modelDir, MANIFEST_FILE))) await loadManifest(modelDir)
    const message = `There is no built model at ${modelDir} and no checkpoint${checkpointDir === '' ? '' : ` at ${checkpointDir}`}: set CEPE_${setting}_CHECKPOINT to a Hugging Face folder or a .gguf file, or CEPE_${setting}_DIR to a folder made by cepe build.`
    throw invalidModel(`CEPE_${setting}_DIR`, message)
  }
  if (built && built.dtype === dtype && (await isBuiltFrom(built, checkpointDir))) return checkFiles(modelDir, built)
  if (built && built.source.name !== path.basename(path.resolve(checkpointDir), '.gguf')) {
    const message = `${modelDir} holds a model built from ${built.source.name}, not from ${checkpointDir}, and is not replaced: set CEPE_${setting}_DIR to another folder, or unset CEPE_${setting}_CHECKPOINT to serve it.`
    throw invalidConfig(`CEPE_${setting}_DIR`, message)
  }
  // A device that cannot be used is found before minutes of building.
  if (PROVIDER === 'cuda' && !CPU_FALLBACK) await probeCuda(DEVICE_ID)
  await buildWanted(wanted, startProgress)
}

/** @throws config_invalid if the folder is not writable */
async function buildWanted({ setting, from: checkpointDir, to: modelDir, dtype }: Wanted, startProgress: StartProgress): Promise<void> {
  const progress = startProgress(`Building ${path.basename(modelDir)} (${dtype})`, 'MB')
  try {
    await buildModel({
      checkpointDir,
      outDir: modelDir,
      dtype,
      onProgress: ({ done, total }) => progress.update(megabytes(done), megabytes(total)),
    })
  } catch (error) {
    if (error instanceof CodedError || osCode(error) === undefined) throw error
    const message = `The model cannot be built in ${modelDir} (${reasonOf(error)}): set CEPE_${setting}_DIR to another folder.`
    throw invalidConfig(`CEPE_${setting}_DIR`, message, error)
  } finally {
    progress.stop()
  }
}
