import { constants, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { access, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { invalidConfig } from '../errors.ts'
import { temporaryFolder } from '../files.ts'
import { processTag, staleFiles } from '../process-tag.ts'

/** Prefix of a process's temporary folder, before its tag. */
const PREFIX = 'cepe-qa.'
const OWN = /^cepe-qa\.([0-9a-f]{16}-\d+-\d*)\.\w{6}$/
/** LanceDB's temporary folders, left after it sorts by partition to build a vector index. */
const OF_LANCE = /^\.tmp\w{6}$/
const SORTED = 'shuffle_'

let own: string | undefined
let working = 0

/**
 * Creates a temporary folder for this process, removed at its exit, and removes those of killed processes. LanceDB leaves temporary files
 * behind even after a regular exit: some 110 bytes per passage of 768 numbers with each vector index.
 * @returns the folder, for TMPDIR; undefined if there is one already, or none can be created: the first use reports that
 */
export async function openScratch(): Promise<string | undefined> {
  if (own !== undefined) return undefined
  try {
    const folder = await mkdtemp(await ownPrefix())
    process.once('exit', () => {
      rmSync(folder, { recursive: true, force: true })
    })
    return (own = folder)
  } catch {
    return undefined
  }
}

/**
 * A temporary folder for one piece of work, removed at the end of its block. Removes those of killed processes.
 * @param root instead of TMPDIR
 * @throws config_invalid without a folder for temporary files
 */
export async function workFolder(root?: string) {
  return temporaryFolder(await ownPrefix(root))
}

/** Path of temporary folders of this process, up to random characters. Removes those of killed processes. @throws config_invalid */
async function ownPrefix(given?: string): Promise<string> {
  if (given === undefined) await checkTemporary()
  const root = given ?? tmpdir()
  const abandoned = await staleFiles(root, (name) => OWN.exec(name)?.[1])
  // Owned by another user.
  await Promise.all(abandoned.map((name) => rm(join(root, name), { recursive: true, force: true }).catch(() => undefined)))
  return join(root, `${PREFIX}${await processTag()}.`)
}

/** LanceDB spills to a temporary folder and aborts the process if it cannot create one. @throws config_invalid */
export async function checkTemporary(): Promise<void> {
  const folder = tmpdir()
  await access(folder, constants.W_OK | constants.X_OK).catch((cause: unknown) => {
    throw invalidConfig('TMPDIR', `The folder for temporary files, ${folder}, cannot be written to: set TMPDIR to another.`, cause)
  })
}

/** Creates the folder again if a cleaner of temporary files has removed it. */
export function keepScratch(): void {
  if (own !== undefined) mkdirSync(own, { recursive: true, mode: 0o700 })
}

/** Runs an index build, which may use the temporary folder. After the last concurrent build, leftovers are removed. */
export async function inScratch<T>(work: () => Promise<T>): Promise<T> {
  keepScratch()
  working++
  return work().finally(() => {
    working--
    if (working === 0 && own !== undefined) removeStaleScratch(own)
  })
}

/** Moves leftovers away first, so that a build that starts concurrently is not affected, then removes them. The rest is removed at exit. */
function removeStaleScratch(folder: string): void {
  try {
    for (const name of readdirSync(folder)) {
      if (!OF_LANCE.test(name)) continue
      const path = join(folder, name)
      const files = readdirSync(path)
      if (files.length === 0 || !files.every((file) => file.startsWith(SORTED))) continue
      renameSync(path, `${path}.aside`)
      rm(`${path}.aside`, { recursive: true, force: true }).catch(() => undefined)
    }
  } catch {
    // The work is done; leftovers do not matter.
  }
}
