import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { staleFiles } from './stale-files.ts'
import { processTag } from './process.ts'

/** A process's own folder among the temporary ones, named by its tag. */
const PREFIX = 'cepe-qa.'
const OWN = /^cepe-qa\.([0-9a-f]{16}-\d+-\d*)\.\w{6}$/
/** Folders of LanceDB there, and what they hold where they are left: what it sorts by partition while it makes a vector index. */
const OF_LANCE = /^\.tmp\w{6}$/
const SORTED = 'shuffle_'

let own: string | undefined
let working = 0

/**
 * Makes a temporary folder for this process, which goes with it, and removes those of killed ones. LanceDB leaves behind what it put
 * among the temporary files, whether or not the process ends in order: some 110 bytes a passage of 768 numbers with each vector index.
 * @returns the folder, for TMPDIR; undefined where there is one already, or none can be made: whoever needs one says so
 */
export async function openScratch(): Promise<string | undefined> {
  if (own !== undefined) return undefined
  const root = tmpdir()
  try {
    const abandoned = await staleFiles(root, (name) => OWN.exec(name)?.[1])
    // Of another user: not ours to remove.
    await Promise.all(abandoned.map((name) => rm(join(root, name), { recursive: true, force: true }).catch(() => undefined)))
    const folder = await mkdtemp(join(root, `${PREFIX}${await processTag()}.`))
    process.once('exit', () => {
      rmSync(folder, { recursive: true, force: true })
    })
    return (own = folder)
  } catch {
    return undefined
  }
}

/** Makes the folder anew where a cleaner of temporary files has taken it meanwhile. */
export function keepScratch(): void {
  if (own !== undefined) mkdirSync(own, { recursive: true, mode: 0o700 })
}

/** Makes an index, which may put something into the temporary folder; when none is being made any more, what was left goes. */
export async function inScratch<T>(work: () => Promise<T>): Promise<T> {
  keepScratch()
  working++
  try {
    return await work()
  } finally {
    working--
    if (working === 0 && own !== undefined) removeStaleScratch(own)
  }
}

/** Moves what was left aside at once, so that nothing that begins meanwhile is met, and removes it then. What cannot be removed goes with the process. */
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
    // The work is done, whatever is left of it.
  }
}
