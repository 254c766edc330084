/**
 * The service under load and faults, with real processes: event loop and answers a second, cached states, killed readers,
 * memory over time, generated and broken requests, readers against threads, and what HTTP and pipeline add to the graphs' runs (in TinyLlama's
 * widths, random weights: 6 GB of disk meanwhile). Ratios within one run; short by default.
 * Usage: service.ts [--seconds 5] [--kill 30] [--kill-every 5] [--soak 2] [--cases 500] [--shape 1.1b|1.1b-shallow|7b|small] [--only load,cache,kill,soak,fuzz,readers,overhead]
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { at } from '../../../base/at.ts'
import { benchOptions } from '../arguments.ts'
import { machine, table } from '../measure.ts'
import { fuzz } from './fuzz.ts'
import { send } from './load.ts'
import { overhead } from './overhead.ts'
import { cached, concurrency, killed, soak, type Row, type Settings } from './parts.ts'
import { misuse } from './raw-sockets.ts'
import { readersAgainstThreads } from './readers.ts'
import { startServer } from './server.ts'
import { SHAPE_NAMES } from '../reader/whole-shape.ts'

const PARTS = ['load', 'cache', 'kill', 'soak', 'fuzz', 'readers', 'overhead'] as const
const options = benchOptions({
  ...{ seconds: '5', kill: '30', 'kill-every': '5', soak: '2', cases: '500', seed: '1' },
  shape: '1.1b',
  only: PARTS.join(','),
})
const wanted = new Set<string>(options.words('only', PARTS))
const seconds = options.count('seconds')

const folder = mkdtempSync(join(tmpdir(), 'cepe-service-'))
/** The first part of the demo corpus: indexed in seconds. */
const PASSAGES = 400
const QUESTIONS = 10
const shipped = (file: string): string => fileURLToPath(new URL(`../../../../${file}`, import.meta.url))
const demo = readFileSync(shipped('index/corpus/passages.tsv'), 'utf8').split('\n')
const corpus = join(folder, 'passages.tsv')
writeFileSync(corpus, demo.slice(0, 1 + PASSAGES).join('\n'))
const settings: Settings = { CEPE_INDEX_DIR: join(folder, 'index'), CEPE_CORPUS: corpus, CEPE_KEYS_DIR: join(folder, 'keys') }
/** Titles far apart, so that questions share few passages. */
const questions = demo
  .slice(1, PASSAGES)
  .flatMap((line, i) => (i % Math.floor(PASSAGES / QUESTIONS) === 0 ? [`what is ${at(line.split('\t'), 2)}`] : []))

/** The demo corpus with its own questions: many passages, some found by several questions. */
const wholeDemo: Settings = { ...settings, CEPE_INDEX_DIR: join(folder, 'demo'), CEPE_CORPUS: shipped('index/corpus/passages.tsv') }
const DEMO_QUESTIONS = 120
const demoQuestions = readFileSync(shipped('eval/questions/test.jsonl'), 'utf8')
  .split('\n')
  .slice(0, DEMO_QUESTIONS)
  .map((line) => (JSON.parse(line) as { question: string }).question)

async function fuzzed(): Promise<Row[]> {
  const server = await startServer({
    ...settings,
    CEPE_INDEX_DIR: join(folder, 'fuzzed'),
    CEPE_REQUEST_TIMEOUT_MS: '2000',
    CEPE_DEADLINE_MS: '20000',
  })
  try {
    const { cases, statuses, undocumented, faults, hung, broken } = await fuzz(server.url, options.count('cases'), options.count('seed'))
    for (const [name, example] of [...undocumented, ...faults]) console.error(`${name}\n  ${example}`)
    for (const example of [...hung, ...broken]) console.error(`hung, or broken off\n  ${example}`)
    const { connections, held } = await misuse(server.url, 3)
    const alive = (await send(server.url, { method: 'GET', path: '/readyz' })).status === 200
    return [
      [
        `fuzz of the OpenAPI document, ${cases} cases`,
        'no undocumented status, no crash, no hang',
        `${[...statuses].map(([status, count]) => `${count} x ${status}`).join(', ')}; undocumented: ${[...undocumented.keys()].join('; ') || 'none'}; 500: ${[...faults.keys()].join('; ') || 'none'}; hung ${hung.length}, broken off ${broken.length}; ready afterwards: ${alive ? 'yes' : 'no'}`,
      ],
      [`raw sockets, ${connections} connections`, 'likewise', `held for more than 15 s: ${held.join(', ') || 'none'}`],
    ]
  } finally {
    await server.stop()
  }
}

const parts: Record<(typeof PARTS)[number], () => Promise<Row[]>> = {
  load: () => concurrency(settings, seconds),
  cache: () => cached(settings, questions),
  kill: () => killed(settings, options.count('kill'), options.count('kill-every')),
  soak: () => soak(settings, options.count('soak')),
  fuzz: fuzzed,
  readers: () => readersAgainstThreads(wholeDemo, demoQuestions, availableParallelism()),
  overhead: () => overhead({ settings, questions, folder, shape: options.word('shape', SHAPE_NAMES), threads: availableParallelism() }),
}

const rows: Row[] = []
try {
  for (const part of PARTS) {
    if (!wanted.has(part)) continue
    const measured = await parts[part]()
    rows.push(...measured)
    console.error(measured.map((row) => row.join(' | ')).join('\n'))
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
console.log(`# Service\n\n${machine(availableParallelism())}\n\n${table(['measure', 'target', 'measured'], rows)}`)
