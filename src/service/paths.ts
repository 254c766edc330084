import { access, constants } from 'node:fs/promises'
import path from 'node:path'
import { CodedError, messageOf } from '../../base/errors.ts'
import { makeFolder } from '../../base/make-folder.ts'
import { openScratch } from '../../base/locks/scratch.ts'
import { storeOf } from '../../index/store/store-of.ts'
import { calibrationFiles, setTemporaryFolder } from '../config.ts'
import { chooseCalibration } from '../rag/calibration/choose.ts'
import { loadDemonstrations } from '../rag/demonstrations.ts'
import type { Config } from '../settings.ts'

/** Folder of the jobs: the setting's, else with the index. */
export function jobsDir(config: Config): string {
  return config.JOBS_DIR ?? path.join(config.INDEX_DIR, 'jobs')
}

/** Where encoder states lie on the disk. */
export function statesDir(config: Config): string {
  return config.STATE_DIR ?? path.join(config.INDEX_DIR, 'states')
}

/**
 * Makes the folders that the index and its jobs write to, and looks whether an object store can be written to.
 * @throws config_invalid naming the setting of one that cannot be made, or written to; store_unavailable
 */
export async function makeFolders(config: Config): Promise<void> {
  await storeOf(config.INDEX_DIR).check(config.INDEX_DIR, { writes: true })
  for (const [setting, folder] of [
    ['CEPE_INDEX_DIR', config.INDEX_DIR],
    ['CEPE_JOBS_DIR', jobsDir(config)],
  ] as const) {
    if (storeOf(folder).keepsFiles) await makeWritable(setting, folder)
  }
}

/** Puts temporary files of this process into a folder of its own, which goes with it. To be called before an index is opened. */
export async function useScratch(): Promise<void> {
  const folder = await openScratch()
  if (folder !== undefined) setTemporaryFolder(folder)
}

async function makeWritable(setting: string, folder: string): Promise<void> {
  await makeFolder(folder).catch(refuse(setting, `The folder ${folder} cannot be made`))
  await access(folder, constants.W_OK).catch(refuse(setting, `The folder ${folder} cannot be written to`))
}

/**
 * What is wrong with the settings' folders and files is found before a model is built or loaded, which may take minutes.
 * @throws config_invalid naming the setting
 */
export async function checkPaths(config: Config): Promise<void> {
  if (config.ROLE !== 'replica') {
    await makeFolders(config)
    if (config.CORPUS !== '' && !(await hasTables(config.INDEX_DIR)))
      await access(config.CORPUS, constants.R_OK).catch(refuse('CEPE_CORPUS', `The corpus ${config.CORPUS} cannot be read`))
  }
  if (config.ROLE === 'replica' && config.MIRROR_DIR !== undefined) await makeWritable('CEPE_MIRROR_DIR', config.MIRROR_DIR)
  if (config.ROLE === 'indexer') return
  if (config.STATE_DISK_MB > 0) await makeWritable('CEPE_STATE_DIR', statesDir(config))
  if (config.DEMONSTRATIONS !== '') await loadDemonstrations(config.DEMONSTRATIONS)
  const { named } = calibrationFiles(config)
  // Whether it is of the reader turns out when that is there.
  if (named !== undefined) await chooseCalibration(calibrationFiles(config), '')
}

/** Where there is a table, the corpus may not be needed any more. */
async function hasTables(indexDir: string): Promise<boolean> {
  return (await storeOf(indexDir).files.list(indexDir)).some((name) => name.endsWith('.lance'))
}

function refuse(setting: string, problem: string): (cause: unknown) => never {
  return (cause) => {
    throw new CodedError('config_invalid', `${problem} (${messageOf(cause)}): set ${setting} to another.`, { field: setting, cause })
  }
}
