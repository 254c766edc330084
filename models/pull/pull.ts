import { mkdir, readFile, rename, rm, stat, statfs, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { CodedError } from '../../base/errors.ts'
import { chooseFiles, type HubFile } from './choose-files.ts'
import { fetchFile } from './fetch-file.ts'
import { commitOf, filesOf, type Hub } from './hub.ts'

/** Beside the files of an unfinished pull: which commit they are of. */
const STATE_FILE = '.pull.json'
/** Left free beside the download. */
const SPARE_BYTES = 64 * 2 ** 20

export interface PullOptions {
  readonly hub: Hub
  /** `owner/name` */
  readonly repository: string
  /** Branch, tag or commit. */
  readonly revision: string
  /** Folder that is made when everything is there. */
  readonly outDir: string
  readonly onProgress?: (progress: { readonly done: number; readonly total: number; readonly name: string }) => void
  readonly onWarning?: (message: string) => void
  readonly signal?: AbortSignal
  /** As fetchFile's. */
  readonly pauseMs?: number
}

export interface Pulled {
  readonly commit: string
  readonly files: readonly string[]
  readonly bytes: number
}

/**
 * Fetches the files that a build needs from a Hugging Face hub. They come into a folder beside outDir, which gets its name
 * when the last one is there and checked; a pull that stopped goes on with what it has.
 * @throws CodedError invalid_request for a name that is none; conflict where outDir exists; disk_full before the first byte where
 * they do not fit; not_found, forbidden, hub_unreachable, checkpoint_invalid, unsupported
 */
export async function pullCheckpoint(options: PullOptions): Promise<Pulled> {
  const { hub, repository, revision, outDir, onProgress = () => undefined, onWarning = () => undefined, signal, pauseMs } = options
  if (!/^[\w.-]+\/[\w.-]+$/.test(repository)) {
    throw new CodedError('invalid_request', `${JSON.stringify(repository)} names no model; give owner/name, as in hyen/CEPE-LLaMA-2-7B.`, {
      field: 'name',
    })
  }
  if (await stat(outDir).catch(() => undefined)) {
    throw new CodedError('conflict', `${outDir} exists already; choose another folder with --out, or remove it.`, { field: '--out' })
  }
  const commit = await commitOf(hub, repository, revision)
  const files = chooseFiles(repository, await filesOf(hub, repository, commit))
  const staging = `${outDir}.partial`
  await openStaging(staging, { repository, commit }, onWarning)
  const total = files.reduce((sum, { size }) => sum + size, 0)
  await checkSpace(staging, files)
  let done = 0
  for (const file of files) {
    const onBytes = (bytes: number): void => onProgress({ done: (done += bytes), total, name: file.path })
    await mkdir(dirname(join(staging, file.path)), { recursive: true })
    await fetchFile(file, {
      hub,
      repository,
      commit,
      target: join(staging, file.path),
      onBytes,
      ...(signal && { signal }),
      ...(pauseMs !== undefined && { pauseMs }),
    })
  }
  await rm(join(staging, STATE_FILE))
  await rename(staging, outDir)
  return { commit, files: files.map(({ path }) => path), bytes: total }
}

/** The folder of an unfinished pull; files of another commit are dropped, and that is said. */
async function openStaging(
  staging: string,
  now: { repository: string; commit: string },
  onWarning: (message: string) => void,
): Promise<void> {
  const state = await readFile(join(staging, STATE_FILE), 'utf8').catch(() => undefined)
  if (state !== undefined && state !== JSON.stringify(now)) {
    onWarning(
      `${staging} holds an unfinished pull of another revision; ${now.repository} is at ${now.commit.slice(0, 12)} now and is fetched again`,
    )
    await rm(staging, { recursive: true })
  }
  await mkdir(staging, { recursive: true })
  await writeFile(join(staging, STATE_FILE), JSON.stringify(now))
}

async function checkSpace(staging: string, files: readonly HubFile[]): Promise<void> {
  let missing = 0
  for (const { path, size } of files) missing += size - Math.min(size, (await stat(join(staging, path)).catch(() => undefined))?.size ?? 0)
  const { bavail, bsize } = await statfs(dirname(staging))
  if (missing + SPARE_BYTES <= bavail * bsize) return
  const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`
  throw new CodedError(
    'disk_full',
    `${gigabytes(missing)} are still to be fetched, ${gigabytes(bavail * bsize)} are free at ${dirname(staging)}.`,
    { field: '--out' },
  )
}
