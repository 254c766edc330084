import { eventLoopTurn } from '../../base/event-loop-turn.ts'
import { type CodedError, invalidIndex } from '../../base/errors.ts'
import { halvesFinite } from '../../base/binary16.ts'
import { RowsDigest } from '../hash.ts'
import { IdSet } from '../id-set.ts'
import type { Connection, Table } from '../table/lance.ts'
import { halvesOf, stringsOf, type Columns, type Rows } from '../table/rows.ts'
import { chunks, sqlIds } from '../table/write.ts'
import type { Plan } from './plan/contract.ts'

/**
 * Reads a finished table back once: row count, distinct ids, ids and contents as planned, every vector present and finite.
 * @throws index_invalid stating the difference
 */
export async function verifyTable(
  table: Table,
  plan: Plan,
  signal: AbortSignal,
  onRows: (done: number, total: number) => void,
): Promise<void> {
  const ids = new IdSet()
  const digest = new RowsDigest()
  let rows = 0
  const turn = eventLoopTurn()
  for await (const batch of table.query().select(['id', 'hash', 'vector'])) {
    signal.throwIfAborted()
    for (const { id, hash } of soundRows(table, batch)) {
      if (turn.isOver()) await turn.next()
      ids.add(id)
      digest.add(id, hash)
    }
    rows += batch.numRows
    onRows(rows, plan.accepted)
  }
  if (rows !== plan.accepted) throw mismatch(table, `it holds ${rows} of ${plan.accepted} planned passages`)
  if (ids.size !== rows) throw mismatch(table, `only ${ids.size} of ${rows} ids are distinct`)
  if (digest.toString() !== plan.digest) throw mismatch(table, 'its ids and contents are not the planned ones')
}

/** Reads a shard back from the version of the table that its commit created, without later changes. @throws index_invalid stating the difference */
export async function verifyShard(connection: Connection, storedAs: string, version: number, rows: Omit<Rows, 'halves'>): Promise<void> {
  using table = await connection.openTable(storedAs, version)
  const wanted = new Map(rows.passages.map(({ id }, row) => [id, rows.hashes[row]]))
  for (const ids of chunks([...wanted.keys()], 1000)) {
    const found = await table.query().where(sqlIds(ids)).select(['id', 'hash', 'vector']).toArrow()
    for (const { id, hash } of soundRows(table, found)) {
      if (wanted.get(id) !== hash) throw mismatch(table, `passage "${id}" occurs twice or is not the planned one`)
      wanted.delete(id)
    }
  }
  if (wanted.size > 0) throw mismatch(table, `${wanted.size} of ${rows.passages.length} passages of a shard are missing`)
}

/** Ids and content hashes of a result. @throws index_invalid for a vector that is not finite */
function* soundRows(table: Table, found: Columns): Generator<{ readonly id: string; readonly hash: string }> {
  const [idAt, hashAt, halvesAt] = [stringsOf(found, 'id'), stringsOf(found, 'hash'), halvesOf(found)]
  for (let row = 0; row < found.numRows; row++) {
    const id = idAt(row)
    if (!halvesFinite(halvesAt(row))) throw mismatch(table, `the vector of passage "${id}" is not finite`)
    yield { id, hash: hashAt(row) }
  }
}

function mismatch(table: Table, what: string): CodedError {
  return invalidIndex(table.storedAs, `Verification of the table ${table.storedAs} failed: ${what}. It is not promoted; run the job again.`)
}
