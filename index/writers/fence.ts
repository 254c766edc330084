import { readAlias, tableFolder, tableOf } from '../versions/alias.ts'
import { connectLance, type Connection } from '../table/lance.ts'
import { manifests } from '../versions/recover.ts'

/**
 * Ends what a process that lost a lease may still have on its way into stored tables: the newest version is made the newest
 * once more. LanceDB refuses for good whatever was begun before such a commit, instead of putting it on top.
 * To be called in the turn of the tables.
 */
export async function fenceTables(dir: string, which: (storedAs: string) => boolean): Promise<void> {
  const connection = await connectLance(dir, 0)
  try {
    for (const storedAs of (await connection.tableNames()).filter(which)) {
      // What is left of a table whose removal was cut off has no version that anything could be put on top of.
      if ((await manifests(tableFolder(dir, storedAs))).length > 0) await fence(connection, storedAs)
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
      // A commit came in between, and is whole: the version that it made is the one to keep. On top of ours none of content can come.
      if (last === base) base = made - 1
      last = made
    }
  } finally {
    table.close()
  }
}

/** Ends what may be on its way into the table that is behind a name. */
export async function fenceLive(dir: string, table: string): Promise<void> {
  const storedAs = (await readAlias(dir, table))?.stored_as
  if (typeof storedAs === 'string') await fenceTables(dir, (name) => name === storedAs)
}

/** Names of the tables that stored tables of an index are of. */
export async function tablesOf(dir: string): Promise<string[]> {
  const connection = await connectLance(dir, 0)
  try {
    return [...new Set((await connection.tableNames()).map(tableOf))]
  } finally {
    connection.close()
  }
}
