import { randomUUID } from 'node:crypto'
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { osCode } from './errors.ts'

/** Forces a file's or folder's content onto the disk. A file that has gone since is no error: compaction removes some. */
export const syncPath = async (path: string): Promise<void> => {
  try {
    const handle = await open(path, 'r')
    try {
      await handle.sync()
    } finally {
      await handle.close()
    }
  } catch (error) {
    if (osCode(error) !== 'ENOENT') throw error
  }
}

/** Writes a file whole or not at all, and durably: aside, fsync, rename, fsync of the folder. */
export const writeFileDurably = async (path: string, content: string): Promise<void> => {
  const aside = `${path}.${randomUUID()}.tmp`
  await mkdir(dirname(path), { recursive: true })
  try {
    const handle = await open(aside, 'wx')
    try {
      await handle.writeFile(content)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(aside, path)
  } catch (error) {
    await rm(aside, { force: true })
    throw error
  }
  await syncPath(dirname(path))
}

const filesUnder = async (folder: string): Promise<string[]> => {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch((error: unknown) => {
    if (osCode(error) === 'ENOENT') return []
    throw error
  })
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}

/**
 * LanceDB acknowledges a write before it is on the disk. This forces the files that appeared since it last looked.
 */
export class TableSync {
  readonly #folder: string
  readonly #known: Set<string>

  private constructor(folder: string, known: Set<string>) {
    this.#folder = folder
    this.#known = known
  }

  /** Files that exist now are taken as durable: make this before the first write. */
  static async start(folder: string): Promise<TableSync> {
    return new TableSync(folder, new Set(await filesUnder(folder)))
  }

  /** Takes no file as durable: for a table that a killed process was writing. */
  static distrusting(folder: string): TableSync {
    return new TableSync(folder, new Set())
  }

  /** Returns when everything written so far is on the disk. */
  async flush(): Promise<void> {
    const fresh = (await filesUnder(this.#folder)).filter((file) => !this.#known.has(file))
    const folders = new Set(fresh.map((file) => dirname(file)))
    await Promise.all(fresh.map(syncPath))
    await Promise.all([...folders, this.#folder, dirname(this.#folder)].map(syncPath))
    for (const file of fresh) this.#known.add(file)
  }
}
