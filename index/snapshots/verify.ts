import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { invalidIndex } from '../../base/errors.ts'
import { sha256OfFile } from '../../base/files.ts'
import type { TableLocation } from '../contract.ts'
import { IdSet } from '../id-set.ts'
import { storeOf } from '../store/store-of.ts'
import { readChecksums } from '../table/checksums.ts'
import type { Table } from '../table/lance.ts'
import { newestVersion } from '../table/manifest.ts'
import { stringsIn } from '../table/rows.ts'
import { CHANGED, damage, type Damage, LOST, soundSnapshot } from '../versions/recover.ts'

/** SHA-256 of files by device and inode: tables share files with snapshots, and each is read once. */
type CheckedFiles = Map<string, string>
type OnBytes = (done: number, total: number) => void

/**
 * As `checkFiles`, of a table that must have no damaged file.
 * @param what the table or snapshot, for the message
 * @throws index_invalid naming the damage and the last intact snapshot of the location
 */
export async function requireUnchanged(folder: string, what: string, location: TableLocation, onBytes?: OnBytes) {
  const checked: CheckedFiles = new Map()
  const { damaged, ...found } = await checkFiles(folder, checked, onBytes)
  const [first] = damaged
  if (first === undefined) return found
  const snapshot = await soundSnapshot(location, async (stored) => (await checkFiles(stored, checked)).damaged)
  throw damage(what, first, snapshot, location.table)
}

/**
 * Reads every file that the newest version of a stored table needs and compares it with its checksum. A table in an object store has none:
 * the store verifies its own, and here only that none is missing.
 * @param onBytes called with the bytes read and the total
 * @returns `sound`: number of unchanged files; `unknown`: files without a checksum, because a killed process wrote them
 */
async function checkFiles(folder: string, checked: CheckedFiles, onBytes?: OnBytes) {
  const damaged: Damage[] = []
  const unknown: string[] = []
  let [sound, bytes] = [0, 0]
  const recorded = await readChecksums(folder)
  const newest = await newestVersion(folder, recorded)
  for (const file of newest.broken) damaged.push({ file, problem: LOST })
  if (storeOf(folder).durable) return { sound, bytes, unknown, damaged }
  const files = [newest.manifest, ...newest.named.map(({ file }) => file)].filter((file) => !newest.broken.includes(file))
  const statuses = await Promise.all(
    files.map(async (file) => {
      const { size, dev, ino } = await stat(join(folder, file))
      return { file, path: join(folder, file), size, key: `${dev} ${ino}` }
    }),
  )
  const total = statuses.reduce((sum, { size }) => sum + size, 0)
  for (const { file, path, size, key } of statuses) {
    const sums = recorded.get(file)
    if (sums === undefined) unknown.push(path)
    else {
      const sha256 = checked.get(key) ?? (await sha256OfFile(path))
      checked.set(key, sha256)
      if (sums.has(sha256)) sound++
      else damaged.push({ file, problem: CHANGED })
    }
    bytes += size
    onBytes?.(bytes, total)
  }
  return { sound, bytes, unknown, damaged }
}

/**
 * Reads ids and hashes of a whole table: few bytes, but some of every file.
 * @returns the number of rows
 * @throws index_invalid if rows are missing or an id occurs twice
 */
export async function countedRows(table: Table): Promise<number> {
  const ids = new IdSet()
  let rows = 0
  for await (const batch of table.query().select(['id', 'hash'])) {
    for (const id of stringsIn(batch, 'id')) ids.add(id)
    rows += batch.numRows
  }
  const wanted = await table.countRows()
  const message = `The table ${table.storedAs} has ${rows} of ${wanted} rows and ${ids.size} distinct ids: it is not used.`
  if (rows !== wanted || ids.size !== rows) throw invalidIndex(table.storedAs, message)
  return rows
}
