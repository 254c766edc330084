import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { makeFolder } from '../base/durable.ts'
import { onCode } from '../base/errors.ts'
import { exists, orAbsent } from '../base/exists.ts'
import { processTag, removeStaleFiles, staleFiles } from '../base/process-tag.ts'
import { inFolder } from '../base/failures.ts'
import { unsupported } from './errors.ts'
import { MANIFEST_FILE } from './manifest.ts'

const MARK = '.partial-'
const OLD = '-old'

/** The process tag in a name created by a build of `outDir`: `<folder>.partial-<tag>.<n>`, with `-old` for the build being replaced. */
function tagIn(outDir: string, name: string): string | undefined {
  const prefix = `${basename(outDir)}${MARK}`
  return name.startsWith(prefix) ? name.slice(prefix.length).split('.', 1)[0] : undefined
}

/** Beginning of the path of a folder that the next build of `outDir` removes if this process is killed. */
export async function stagingPrefix(outDir: string): Promise<string> {
  return `${resolve(outDir)}${MARK}${await processTag()}.`
}

/**
 * Restores the replaced build if its builder was killed between two renames. Does nothing if there is a build, or its builder runs.
 * @returns true if it was restored
 */
export async function recoverFolder(folder: string): Promise<boolean> {
  const outDir = resolve(folder)
  if ((await exists(outDir)) || !(await exists(dirname(outDir)))) return false
  const [old] = await staleFiles(dirname(outDir), (name) => (name.endsWith(OLD) ? tagIn(outDir, name) : undefined))
  return old !== undefined && isRenamed(join(dirname(outDir), old), outDir)
}

/** Renames a folder. @returns false if another process has renamed it first */
async function isRenamed(from: string, to: string): Promise<boolean> {
  return (await orAbsent(rename(from, to).then(() => true))) ?? false
}

/** Only a built model or an empty folder is ever replaced. */
async function assertReplaceable(outDir: string): Promise<void> {
  const entries = (await orAbsent(readdir(outDir))) ?? []
  if (entries.length > 0 && !entries.includes(MANIFEST_FILE))
    throw unsupported(`${outDir} holds files other than a built model (no ${MANIFEST_FILE}); choose another output folder`, outDir)
}

let builds = 0

/**
 * Fills a temporary folder and renames it to `outDir` when `fill` succeeds. An older build is replaced; after a failure or a kill `outDir`
 * is unchanged, or restored by `recoverFolder`. The next build removes stale folders of killed ones.
 */
export async function fillFolder<T>(folder: string, fill: (staging: string) => Promise<T>): Promise<T> {
  const outDir = resolve(folder)
  await makeFolder(dirname(outDir))
  await recoverFolder(outDir)
  await assertReplaceable(outDir)
  await removeStaleFiles(dirname(outDir), (name) => tagIn(outDir, name))
  const staging = `${await stagingPrefix(outDir)}${builds++}`
  await mkdir(staging)
  try {
    const result = await fill(staging)
    const old = `${staging}${OLD}`
    for (let placed = false; !placed; await rm(old, { recursive: true, force: true })) {
      const replaced = await isRenamed(outDir, old)
      placed = await rename(staging, outDir)
        .then(() => true)
        // Another build of the folder has ended in between: it is replaced in turn.
        .catch(onCode(['ENOTEMPTY', 'EEXIST'], () => false))
        .catch(async (error: unknown) => {
          if (replaced) await rename(old, outDir)
          throw error
        })
    }
    return result
  } catch (error) {
    await rm(staging, { recursive: true, force: true })
    return inFolder(dirname(outDir))(error)
  }
}
