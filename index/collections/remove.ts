import { CodedError } from '../../base/errors.ts'
import { storeOf, within } from '../store/store-of.ts'
import { readAlias, removeAlias } from '../versions/alias.ts'
import { watchingJobs } from '../writers/change-log.ts'
import { withMaintenanceLock, withWriterLock } from '../writers/locks.ts'
import { unknownCollection } from './contract.ts'

const INTENT = '.removing'
/** Suffixes of a table's files other than its alias and locks: stored tables, snapshots, change logs, read pins. */
const FOLDERS = ['lance', 'snapshots', 'changes', 'readings']
/** Maximum wait for a running compaction. */
const WAIT_MS = 60_000

/**
 * Removes a table: writes a removal mark, deletes the alias (the table is gone for all processes), its files and snapshots, and the mark.
 * A process killed before the alias is deleted leaves the table intact; later, it leaves files that `finishRemovals` removes.
 * @throws unknown_collection; conflict while the table has an unfinished job, or its files are being compacted
 */
export async function removeTable(dir: string, table: string): Promise<void> {
  await alone(dir, table, async () => {
    if ((await readAlias(dir, table)) === undefined) throw unknownCollection(table)
    const jobs = await watchingJobs({ dir, table })
    if (jobs.length > 0)
      throw new CodedError(
        'conflict',
        `Jobs of the collection "${table}" have not ended (${jobs.slice(0, 5).join(', ')}): let them end, or cancel them (DELETE /v1/admin/index-jobs/<id>), and try again.`,
        { field: 'name' },
      )
    await storeOf(dir).files.write(intentOf(dir, table), '')
    await removeAlias(dir, table)
    await removeFiles(dir, table)
  })
}

/** Completes removals interrupted by kills. Tables whose alias still exists are kept. */
export async function finishRemovals(dir: string): Promise<void> {
  const names = (await storeOf(dir).files.list(dir)).filter((name) => name.endsWith(INTENT)).map((name) => name.slice(0, -INTENT.length))
  for (const table of names) await alone(dir, table, () => finishRemoval(dir, table))
}

/** Completes an interrupted removal, or withdraws it if the alias still exists. The caller must hold the writer lock. */
export async function finishRemoval(dir: string, table: string): Promise<void> {
  const { files } = storeOf(dir)
  if ((await files.read(intentOf(dir, table))) === undefined) return
  if ((await readAlias(dir, table)) === undefined) await removeFiles(dir, table)
  else await files.remove(intentOf(dir, table))
}

async function removeFiles(dir: string, table: string): Promise<void> {
  const { files } = storeOf(dir)
  for (const name of await files.list(dir)) {
    const [of, ...rest] = name.split('.')
    if (of === table && FOLDERS.includes(rest.at(-1) ?? '')) await files.removeTree(within(dir, name))
  }
  await files.remove(intentOf(dir, table))
}

function intentOf(dir: string, table: string): string {
  return within(dir, `${table}${INTENT}`)
}

/** Runs work while nobody writes to the table or compacts it. */
async function alone(dir: string, table: string, work: () => Promise<void>): Promise<void> {
  const done = await withMaintenanceLock({ dir, table }, { waitMs: WAIT_MS }, () => withWriterLock({ dir, table }, work))
  if (!done)
    throw new CodedError('conflict', `The files of the collection "${table}" are being compacted. Try again later.`, {
      field: 'name',
      retryAfterS: 10,
    })
}
