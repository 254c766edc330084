/**
 * Bulk indexing and search on synthetic corpora, and what an index in use is held to; ratios and rates within one run.
 * Usage: index.js [--rows 100000,1000000] [--embed 600] [--queries 50] [--threads 1]
 *   [--table 5000] [--seconds 10] [--inserts 900] [--puts 100] [--additions 10000] [--pause 20000]
 * 0 leaves a section out: --embed the model, --rows bulk indexing and search, --seconds writers and readers over HTTP, --inserts contended
 * inserts, --puts small PUTs (all three on a table of --table passages), --additions jobs that add to so many passages, --pause a job of so many.
 * What is aimed at: --table 100000 --seconds 60 --inserts 10000 --puts 1000 --additions 100000 --pause 1000000.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { benchOptions } from '../arguments.ts'
import { contentionRows } from './contention.ts'
import { diskRow } from './disk.ts'
import { embedFigures } from './embed.ts'
import { pauseRow } from './pause.ts'
import { putsRow } from './puts.ts'
import { diskOf, searchFigures } from './search.ts'
import { bareAppend, jobWrite } from './write.ts'
import { machine, table } from '../measure.ts'

const options = benchOptions({
  rows: '100000',
  embed: '600',
  queries: '50',
  threads: '1',
  table: '5000',
  seconds: '10',
  inserts: '900',
  puts: '100',
  additions: '10000',
  pause: '20000',
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

/** LanceDB alone appends at a constant rate. */
const BARE_ROWS = 100_000

const threads = options.count('threads')
const folder = await mkdtemp(join(tmpdir(), 'cepe-bench-index-'))
try {
  say(`# Index benchmark, ${new Date().toISOString().slice(0, 10)}\n\n${machine(threads)}\n`)
  const embed = options.count('embed')
  if (embed > 0) {
    const { bareRate, jobRate, gapP99, gapMax } = await embedFigures(folder, embed, threads)
    say(`## Embedding (${embed} passages, BERT-base widths, 4 layers)\n`)
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
  const [tableRows, puts, additions, pause] = [
    options.count('table'),
    options.count('puts'),
    options.count('additions'),
    options.count('pause'),
  ]
  const held = [
    ...(await contentionRows(folder, { rows: tableRows, seconds: options.count('seconds'), inserts: options.count('inserts') })),
    ...(puts > 0 ? [await putsRow(join(folder, 'puts'), tableRows, puts)] : []),
    ...(additions > 0 ? [await diskRow(join(folder, 'additions'), additions)] : []),
    ...(pause > 0 ? [await pauseRow(join(folder, 'pause'), pause)] : []),
  ]
  if (held.length > 0) say(`## In use\n\n${table(['what', 'measured'], held)}\n`)
  for (const rows of options.counts('rows').filter((count) => count > 0)) {
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
    const figures = await searchFigures(dir, 'bench', rows, options.count('queries'))
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
