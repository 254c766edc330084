import { readAlias, tableFolder } from '../../index/table/alias.ts'
import { treeBytes } from '../../index/store/tree.ts'
import { maintainTable } from '../../index/table/maintain.ts'
import { lookupEmbed } from './index-corpus.ts'
import { syntheticJob } from './index-table.ts'

const ADDITIONS = 20
const SHARE = 0.01

/** Bytes of a table after twenty jobs that add a hundredth each, against those before. */
export async function diskRow(dir: string, rows: number): Promise<string[]> {
  const job = { dir, table: 'passages', embed: lookupEmbed(rows) }
  const bytes = async (): Promise<number> => treeBytes(tableFolder(dir, (await readAlias(dir, 'passages'))?.stored_as ?? ''))
  await syntheticJob({ ...job, jobId: 'base', rows, replace: true })
  const before = await bytes()
  const added = Math.ceil(rows * SHARE)
  for (let number = 0; number < ADDITIONS; number++)
    await syntheticJob({ ...job, jobId: `add${number}`, rows: added, first: rows + number * added, replace: false })
  const after = await bytes()
  // The first one may still put files together, and so replace some.
  for (let i = 0; i < 2; i++) await maintainTable({ dir, table: 'passages', task: 'cleanup', keepMs: 0, dryRun: false })
  const kept = await bytes()
  const times = (value: number): string => `${(value / before).toFixed(2)}x (${(value / 1e6).toFixed(0)} MB)`
  return [
    `disk of ${rows.toLocaleString('en')} passages after ${ADDITIONS} additions of 1 % by jobs, against that before (${(before / 1e6).toFixed(0)} MB)`,
    `${times(after)} at once; ${times(kept)} when replaced files are past their ten minutes`,
  ]
}
