import { type CodedError, conflict } from '../../base/errors.ts'
import { IdSet } from '../id-set.ts'
import type { ReadItem } from '../read/contract.ts'
import { exportPassages } from '../search/list.ts'
import { storedNameOf, tableFolder } from '../versions/alias.ts'
import { isOfModel, readableMetadata } from '../versions/compatibility.ts'
import { connectForWriting, type Table } from '../table/lance.ts'
import { pinForReading } from '../versions/read-pins.ts'
import { openStored, withLive } from '../versions/recover.ts'
import { stringsIn } from '../table/rows.ts'
import { TableSync } from '../table/table-sync.ts'
import { withWriterLock } from '../writers/locks.ts'
import { removeDoubles } from '../table/write.ts'
import type { EmbeddingModel, TableLocation } from '../contract.ts'

/**
 * Checks that embedding a table again would change it.
 * @throws conflict if its vectors are already of the model, or it has no passages; index_missing, index_invalid
 */
export async function checkReembed(live: TableLocation, model: EmbeddingModel): Promise<void> {
  await withLive(live, async (table) => {
    const metadata = await readableMetadata(live.table, table)
    const refuse = (why: string): CodedError => conflict('table', `The table "${live.table}" ${why}`)
    if (isOfModel(metadata, model)) throw refuse(`already has vectors of ${model.id}.`)
    if ((await table.countRows()) === 0) throw refuse(`has no passages: run \`cepe index add <file> --collection ${live.table}\`.`)
  })
}

/** Estimates the disk space of a plan of the table's passages, in bytes. */
export async function textBytes(live: TableLocation): Promise<number> {
  return withLive(live, async (table) => {
    const { dimension } = await readableMetadata(live.table, table)
    const { totalBytes, numRows } = await table.stats()
    return Math.max(0, totalBytes - numRows * dimension * 2)
  })
}

/** All passages of the live table, whatever its model, as planned rows. Of duplicate ids, the newest row. */
export async function* livePassages(live: TableLocation): AsyncGenerator<ReadItem> {
  const storedAs = await storedNameOf(live)
  using connection = await connectForWriting(live.dir)
  const table = await openStored(connection, storedAs)
  await readableMetadata(live.table, table)
  await dropDoubles(live, table)
  await using _pin = await pinForReading(table)
  let line = 0
  for await (const passage of exportPassages(table)) yield { line: ++line, passage }
}

/** Removes duplicate ids: see `removeDoubles`. */
async function dropDoubles(live: TableLocation, table: Table): Promise<void> {
  const ids = new IdSet()
  const doubled = new Set<string>()
  for await (const batch of table.query().select(['id'])) {
    for (const id of stringsIn(batch, 'id')) if (!ids.add(id)) doubled.add(id)
  }
  if (doubled.size === 0) return
  const sync = await TableSync.start(tableFolder(live.dir, table.storedAs))
  await withWriterLock(live, async () => {
    await table.checkoutLatest()
    await removeDoubles(table, [...doubled])
    await sync.flush()
  })
}
