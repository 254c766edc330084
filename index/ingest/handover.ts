import { contentHash } from '../hash.ts'
import { passageText, type Embed, type EmbeddingModel, type Passage } from '../contract.ts'
import { readAlias, writeAlias } from '../table/alias.ts'
import { noteChange, watchingJobs, type LaterChanges } from '../table/changes.ts'
import { PASSAGE_COLUMNS } from '../table/columns.ts'
import { isOfModel } from '../table/fitness.ts'
import type { Connection, Table } from '../table/lance.ts'
import { readMetadata } from '../table/metadata.ts'
import { migrateTable } from '../table/migrate.ts'
import { openStored } from '../table/recover.ts'
import { halvesAt, packVectors, passageAt, stringAt } from '../table/rows.ts'
import { sqlIds } from '../table/sql.ts'
import type { TableSync } from '../table/table-sync.ts'
import { inTurn } from '../table/turn.ts'
import { chunks, deleteRows, mergeRows } from '../table/write.ts'
import { verifyShard } from './verify.ts'

/** Passages of one commit, and of one note. */
const CARRIED = 1000
/** Catching up before the last step, which other writers wait for. */
const ROUNDS = 5

export interface HandoverOptions {
  readonly dir: string
  readonly table: string
  readonly jobId: string
  readonly model: EmbeddingModel
  readonly embed: Embed
  /** True if the corpus is to be all that is in the table. */
  readonly replace: boolean
  readonly connection: Connection
  /** The verified table that goes into service. */
  readonly own: Table
  readonly sync: TableSync
  readonly later: LaterChanges
  readonly signal: AbortSignal
  readonly onWarning: (message: string) => void
}

/**
 * Puts a job's own table behind the name. What was changed in the live table since the job was ordered is taken over
 * first, as it is there now: passages with their vectors, and what was deleted is deleted. Done again after an
 * interruption it ends the same.
 * @returns the number of passages taken over or deleted.
 */
export async function handOver(options: HandoverOptions): Promise<number> {
  const { dir, table, jobId, own, sync, later, replace, signal } = options
  await later.read()
  // All of them first, whoever read them before; then what came meanwhile.
  let fresh: ReadonlySet<string> = new Set(later.ids)
  for (let round = 0; round < ROUNDS && fresh.size > 0; round++) {
    await carry([...fresh], options)
    signal.throwIfAborted()
    fresh = await later.read()
  }
  await inTurn(dir, table, async () => {
    await carry([...fresh, ...(await later.read())], options)
    await sync.flush()
    await writeAlias(dir, table, { stored_as: own.storedAs, replaced_by_job: null })
    await tellEarlierJobs({ dir, table, jobId, replace, own })
  })
  return later.ids.size
}

/** Notes for the jobs before this one, which are not at their end, that this one put its table into service. */
export async function tellEarlierJobs({
  dir,
  table,
  jobId,
  replace,
  own,
}: Pick<HandoverOptions, 'dir' | 'table' | 'jobId' | 'replace' | 'own'>): Promise<void> {
  if ((await watchingJobs(dir, table)).every((job) => job >= jobId)) return
  if (replace) return noteChange(dir, table, { replaced_by: jobId }, jobId)
  for await (const batch of own.query().select(['id'])) {
    const ids = Array.from({ length: batch.numRows }, (_, row) => stringAt(batch, 'id', row))
    for (const some of chunks(ids, CARRIED)) await noteChange(dir, table, { ids: some }, jobId)
  }
}

async function carry(ids: readonly string[], options: HandoverOptions): Promise<void> {
  const { dir, table: name, connection, own, model, onWarning, signal } = options
  const storedAs = (await readAlias(dir, name))?.stored_as
  if (ids.length === 0 || typeof storedAs !== 'string') return
  const live = await openStored(connection, dir, storedAs, onWarning)
  try {
    // Older software may have put it into service since this process looked at it.
    await migrateTable(live)
    const sameModel = isOfModel(await readMetadata(live), model)
    for (const some of chunks(ids, CARRIED)) {
      signal.throwIfAborted()
      const { passages, halves } = await rowsOf(live, some, sameModel, options)
      const present = new Set(passages.map(({ id }) => id))
      const gone = some.filter((id) => !present.has(id))
      if (gone.length > 0) await deleteRows(own, gone)
      if (passages.length === 0) continue
      const hashes = passages.map(contentHash)
      const version = await mergeRows(own, { passages, hashes, halves }, model.dimension)
      const planned = passages.map((passage) => ({ passage, hash: contentHash(passage) }))
      await verifyShard(connection, own.storedAs, version, planned)
    }
  } finally {
    live.close()
  }
}

/** Passages of the live table with vectors of the job's model. */
async function rowsOf(
  live: Table,
  ids: readonly string[],
  sameModel: boolean,
  { model, embed, signal }: HandoverOptions,
): Promise<{ passages: Passage[]; halves: Uint16Array }> {
  const found = await live
    .query()
    .where(sqlIds(ids))
    .select([...PASSAGE_COLUMNS, 'vector'])
    .toArrow()
  const rows = new Map(Array.from({ length: found.numRows }, (_, row) => [stringAt(found, 'id', row), row]))
  const passages = [...rows.values()].map((row) => passageAt(found, row))
  if (!sameModel && passages.length > 0)
    return { passages, halves: packVectors(passages, await embed(passages.map(passageText), signal), model.dimension) }
  const halves = new Uint16Array(passages.length * model.dimension)
  for (const [i, row] of [...rows.values()].entries()) halves.set(halvesAt(found, row), i * model.dimension)
  return { passages, halves }
}
