/**
 * Bulk indexing and search on synthetic corpora, ratios and rates within one run.
 * Usage: index.js [--rows 100000,1000000] [--embed 600] [--queries 50] [--threads 1] [--contention 5000] [--seconds 10] [--inserts 900]
 * --embed 0 leaves the model out, --rows 0 bulk indexing and search, --contention 0 writers and readers at once: each section can be run alone.
 * The contention that is aimed at: --contention 100000 --seconds 60 --inserts 10000.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { contentionLines } from './index-contention.ts'
import { embedFigures } from './index-embed.ts'
import { diskOf, searchFigures } from './index-search.ts'
import { bareAppend, jobWrite } from './index-write.ts'
import { machine, table } from './measure.ts'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '100000' },
    embed: { type: 'string', default: '600' },
    queries: { type: 'string', default: '50' },
    threads: { type: 'string', default: '1' },
    contention: { type: 'string', default: '5000' },
    seconds: { type: 'string', default: '10' },
    inserts: { type: 'string', default: '900' },
  },
})
function say(text: string): void {
  return console.log(text)
}
function number(value: number, digits = 1): string {
  return value.toFixed(digits)
}
function rate(rows: number, seconds: number): string {
  return Math.round(rows / seconds).toLocaleString('en')
}

/** LanceDB alone appends at a steady rate. */
const BARE_ROWS = 100_000

const threads = Number(values.threads)
const folder = await mkdtemp(join(tmpdir(), 'cepe-bench-index-'))
try {
  say(`# Index benchmark, ${new Date().toISOString().slice(0, 10)}\n\n${machine(threads)}\n`)
  if (Number(values.embed) > 0) {
    const { bareRate, jobRate, gapP99, gapMax } = await embedFigures(folder, Number(values.embed), threads)
    say(`## Embedding (${values.embed} passages, BERT-base widths, 4 layers)\n`)
    say(
      table(
        ['', 'passages/s'],
        [
          ['bare ONNX session, same batches', number(bareRate)],
          ['job through the embedder process', number(jobRate)],
          ['ratio', number(jobRate / bareRate, 2)],
        ],
      ),
    )
    say(`\nEvent loop of the service meanwhile: p99 ${number(gapP99)} ms, longest ${number(gapMax)} ms.\n`)
  }
  if (Number(values.contention) > 0) {
    const options = { rows: Number(values.contention), seconds: Number(values.seconds), inserts: Number(values.inserts) }
    say(`## Writers and readers at once\n\n${(await contentionLines(folder, options)).join('\n')}\n`)
  }
  for (const rows of values.rows
    .split(',')
    .map(Number)
    .filter((count) => count > 0)) {
    const dir = join(folder, String(rows))
    const bareRows = Math.min(rows, BARE_ROWS)
    const before = await bareAppend(dir, 'bare', bareRows)
    const job = await jobWrite(dir, 'bench', rows)
    const after = await bareAppend(dir, 'bare', bareRows)
    const bare = ((before + after) / 2) * (rows / bareRows)
    say(`## ${rows.toLocaleString('en')} passages of 768 numbers\n`)
    say(
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
    say(
      `\nWrite rate against LanceDB alone: ${number(bare / (job.index - job.lookup), 2)} (${number(bare / job.index, 2)} with making the vectors up). Event loop while writing: p99 ${number(job.gapP99)} ms, longest ${number(job.gapMax)} ms.\n`,
    )
    const figures = await searchFigures(dir, 'bench', rows, Number(values.queries))
    say(
      table(
        ['search', 'recall@10', 'p50 ms', 'p95 ms'],
        figures.map(({ name, recall, p50, p95 }) => [name, Number.isNaN(recall) ? '' : number(recall, 3), number(p50), number(p95)]),
      ),
    )
    const disk = await diskOf(dir, 'bench')
    say(`\nDisk: ${Math.round(disk.data / rows)} bytes per passage of rows and ${Math.round(disk.indexes / rows)} of indexes.\n`)
    await rm(dir, { recursive: true, force: true })
  }
} finally {
  await rm(folder, { recursive: true, force: true })
}
