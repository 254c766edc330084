import { createTable } from '../table/create.ts'
import type { Connection } from '../table/lance.ts'
import { TableSync } from '../table/table-sync.ts'
import type { EmbeddingModel } from '../contract.ts'
import type { WordLanguage } from '../word-languages.ts'
import { createAlias, readAlias, storedName, tableFolder } from './alias.ts'

export interface NewLiveTable {
  readonly dir: string
  readonly name: string
  readonly connection: Connection
  readonly model: EmbeddingModel
  /** Of the word index. Default: detected. */
  readonly language?: WordLanguage | undefined
  /** Called after the creation. */
  readonly onWarning?: (message: string) => void
}

/**
 * Makes an empty table and puts it behind a name; durable when it returns. To be called under the writer lock.
 * @returns false where another process put one there first: nothing is made then
 */
export async function createLiveTable({ dir, name, connection, model, language, onWarning }: NewLiveTable): Promise<boolean> {
  const storedAs = storedName(name)
  const table = await createTable(connection, storedAs, model, language)
  table.close()
  await TableSync.distrusting(tableFolder(dir, storedAs)).flush()
  if (await createAlias(dir, name, { stored_as: storedAs })) {
    await readAlias(dir, name)
    onWarning?.(`The table "${name}" did not exist and was created, empty.`)
    return true
  }
  await connection.dropTable(storedAs)
  return false
}
