import { readAlias, tableFolder, tableOf } from '../versions/alias.ts'
import { connectLance, type Connection } from '../table/lance.ts'
import { manifestFiles } from '../table/manifest.ts'

/**
 * Fences off pending writes of a process that lost its lease: restores the newest version. LanceDB rejects every commit that started before
 * a restore. The caller holds the writer lock of the tables.
 */
export async function fenceTables(dir: string, which: (storedAs: string) => boolean): Promise<void> {
  const connection = await connectLance(dir, 0)
  try {
    for (const storedAs of (await connection.tableNames()).filter(which)) {
      // A table whose removal was interrupted has no version to commit on top of.
      if ((await manifestFiles(tableFolder(dir, storedAs))).length > 0) await fence(connection, storedAs)
    }
  } finally {
    connection.close()
  }
}

async function fence(connection: Connection, storedAs: string): Promise<void> {
  const table = await connection.openTable(storedAs)
  try {
    let base = await table.version()
    let last = base
    for (;;) {
      await table.checkout(base)
      await table.restore()
      const made = await table.version()
      if (made === last + 1) return
      // A commit came in between and is complete: keep its version. No commit can land on top of the restore.
      if (last === base) base = made - 1
      last = made
    }
  } finally {
    table.close()
  }
}

/** Fences off pending writes to the live table of a name. */
export async function fenceLive(dir: string, table: string): Promise<void> {
  const storedAs = (await readAlias(dir, table))?.stored_as
  if (typeof storedAs === 'string') await fenceTables(dir, (name) => name === storedAs)
}

/** Names of the tables that have stored tables in an index. */
export async function tablesOf(dir: string): Promise<string[]> {
  const connection = await connectLance(dir, 0)
  try {
    return [...new Set((await connection.tableNames()).map(tableOf))]
  } finally {
    connection.close()
  }
}
