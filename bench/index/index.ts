/**
 * Bulk indexing and search on synthetic corpora; ratios and rates within one run.
 * Usage: index.js [--rows 100000,1000000] [--queries 50] [--python FILE], a Python with faiss-cpu to compare with
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { diskOf, searchFigures, type SearchFigures } from './search.ts'
import { bareAppend, jobWrite } from './write.ts'
import { benchFolder, benchOptions, printHeading, table } from '../measure.ts'

const options = benchOptions({ rows: '100000', queries: '50', python: '' })
function number(value: number, digits = 1): string {
  return Number.isNaN(value) ? '' : value.toFixed(digits)
}
function rate(rows: number, seconds: number): string {
  return Math.round(rows / seconds).toLocaleString('en')
}

/** LanceDB alone appends at a constant rate. */
const BARE_ROWS = 100_000

await using folder = await benchFolder()
printHeading('Index benchmark', 1)
for (const rows of options.integers('rows').filter((count) => count > 0)) {
  const dir = join(folder.path, String(rows))
  const bareRows = Math.min(rows, BARE_ROWS)
  const before = await bareAppend(dir, 'bare', bareRows)
  const job = await jobWrite(dir, 'bench', rows)
  const after = await bareAppend(dir, 'bare', bareRows)
  const bare = ((before + after) / 2) * (rows / bareRows)
  console.log(`## ${rows.toLocaleString('en')} passages of 768 numbers\n`)
  console.log(
    table(
      ['phase', 'seconds', 'passages/s'],
      [
        [
          `LanceDB add alone, ${bareRows.toLocaleString('en')} passages, before and after`,
          `${number(before)}, ${number(after)}`,
          rate(rows, bare),
        ],
        ['job: plan (check, hash, lay out, fsync)', number(job.plan), rate(rows, job.plan)],
        ['job: shards to committed and fsynced', number(job.index), rate(rows, job.index)],
        ['of that, making the vectors up', number(job.lookup), ''],
        ['job: the same without that', number(job.index - job.lookup), rate(rows, job.index - job.lookup)],
        ['job: read back, index, measure recall', number(job.verify), rate(rows, job.verify)],
      ],
    ),
  )
  console.log(
    `\nWrite rate against LanceDB alone: ${number(bare / (job.index - job.lookup), 2)} (${number(bare / job.index, 2)} with making the vectors up). Event loop while writing: p99 ${number(job.gapP99)} ms, longest ${number(job.gapMax)} ms.\n`,
  )
  const figures: SearchFigures[] = []
  for await (const figure of searchFigures(dir, 'bench', rows, options.integer('queries'), options.text('python'))) {
    figures.push(figure)
    console.error(`${figure.name}: ${number(figure.cpu)} ms of processor time, recall@10 ${number(figure.recall, 3)}`)
  }
  console.log(
    table(
      ['search', 'recall@10', 'processor ms', 'p50 ms', 'p95 ms'],
      figures.map(({ name, recall, cpu, p50, p95 }) => [name, number(recall, 3), ...[cpu, p50, p95].map((ms) => number(ms))]),
    ),
  )
  const disk = await diskOf(dir, 'bench')
  console.log(`\nDisk: ${Math.round(disk.data / rows)} bytes per passage of rows and ${Math.round(disk.indexes / rows)} of indexes.\n`)
  await rm(dir, { recursive: true, force: true })
}
