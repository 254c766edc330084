import { join } from 'node:path'
import { readAlias, tableFolder } from '../../../index/versions/alias.ts'
import { bytesUnder } from '../../../index/store/store-of.ts'
import { compactionCommand } from '../../../index/compaction/command.ts'
import { lookupEmbed } from '../../../test/fixtures/synthetic-corpus.ts'
import { syntheticJob } from '../../../test/fixtures/synthetic-table.ts'

const ADDITIONS = 20
const SHARE = 0.01

/** Maximum and final size of a table over twenty jobs that each add 1 %, relative to the size before. */
async function additions(dir: string, rows: number, keepMs: number): Promise<{ before: number; most: number; last: number }> {
  const job = { dir, table: 'passages', embed: lookupEmbed(rows), policy: { keepMs } }
  const bytes = async (): Promise<number> => bytesUnder(tableFolder(dir, (await readAlias(dir, 'passages'))?.stored_as ?? ''))
  await syntheticJob({ ...job, jobId: 'base', rows, replace: true })
  const before = await bytes()
  const added = Math.ceil(rows * SHARE)
  let most = 0
  for (let number = 0; number < ADDITIONS; number++) {
    await syntheticJob({ ...job, jobId: `add${number}`, rows: added, first: rows + number * added, replace: false })
    most = Math.max(most, await bytes())
  }
  // The first one may still compact files.
  for (let i = 0; i < 2; i++) await compactionCommand({ dir, table: 'passages', task: 'cleanup', keepMs: 0, dryRun: false })
  return { before, most, last: await bytes() }
}

/** Disk use of additions in quick succession, before any replaced file expires, and of additions farther apart than the retention. */
export async function diskRow(dir: string, rows: number): Promise<string[]> {
  const together = await additions(join(dir, 'together'), rows, 3_600_000)
  const apart = await additions(join(dir, 'apart'), rows, 0)
  const times = (value: number): string => `${(value / together.before).toFixed(2)}x (${(value / 1e6).toFixed(0)} MB)`
  return [
    `disk of ${rows.toLocaleString('en')} passages after each of ${ADDITIONS} additions of 1 % by jobs, at most, against that before (${(together.before / 1e6).toFixed(0)} MB)`,
    `${times(apart.most)} where additions are farther apart than replaced files are kept; ${times(together.most)} where all come before; ${times(together.last)} once all are past their time`,
  ]
}
