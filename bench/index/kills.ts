/**
 * Kills processes at random moments and looks at what is left, row by row: storms of puts, deletes and compactions,
 * and jobs that add and replace. Ends with 1 at the first row that is lost, doubled or wrong.
 * Usage: index-kills.js [--storms 100] [--jobs 100] [--seed 1]
 */
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { closing } from '../../base/files.ts'
import type { Random } from '../../base/random.ts'
import type { Passage } from '../../index/contract.ts'
import { openIndex } from '../../index/open.ts'
import { embedWords, hashedWords } from '../../test/fixtures/hashed-words.ts'
import { indexedTable } from '../../test/fixtures/synthetic-table.ts'
import { builtForTests, collect, finished, startNode } from '../../test/helpers/processes.ts'
import { uniform } from '../../test/fixtures/synthetic-checkpoint.ts'

/** Passages that a storm rewrites, beside those of a table with indexes. */
export const IDS = 60

/** The passage that a storm writes under an id in a round. */
export function stormPassage(id: number, round: number): Passage {
  return { id: `s${id}`, title: `Passage ${id}`, text: `Round ${round} of passage ${id}.` }
}

const LONGEST_LIFE_MS = 900
const KILLS_PER_TABLE = 25
const KILLS_PER_JOB = 4
const STORM_ROWS = 1200
const JOB_ROWS = 1500

/** Interval of progress reports: a run may take hours. */
const SAID_EVERY = 50

/** Counts kills up to the wanted number, and reports them. */
function killCount(name: string, wanted: number) {
  let done = 0
  return {
    isOpen: () => done < wanted,
    add: () => {
      if (++done % SAID_EVERY === 0 || done === wanted)
        console.log(`${name}: ${done} kills, nothing lost, doubled or wrong before the last`)
    },
  }
}
type Kills = ReturnType<typeof killCount>

const STORMING = builtForTests('bench/index/storming-process.js')
const INDEXING = builtForTests('test/index/processes/indexing-process.js')

/**
 * Runs a compiled script and kills it a number of milliseconds after its first line.
 * @returns its standard output, and false if it ended by itself
 * @throws Error with its standard error, if it failed before that
 */
async function killedAfter(script: string, args: readonly string[], ms: number) {
  const child = startNode(script, args)
  const { stdout, stderr } = collect(child)
  let timer: NodeJS.Timeout | undefined
  child.stdout?.once('data', () => (timer = setTimeout(() => child.kill('SIGKILL'), ms)))
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
  clearTimeout(timer)
  const killed = signal === 'SIGKILL'
  if (!killed && code !== 0) throw new Error(`${script} ended with ${String(code ?? signal)} after "${stdout().slice(-200)}":\n${stderr()}`)
  return { output: stdout(), killed }
}

/** Text of all passages by id. @throws Error for a duplicate id */
async function textsIn(dir: string): Promise<Map<string, string>> {
  await using index = closing(await openIndex({ dir, model: hashedWords }))
  const texts = new Map<string, string>()
  for await (const { id, text } of index.export()) {
    if (texts.has(id)) throw new Error(`${dir}: "${id}" is there twice`)
    texts.set(id, text)
  }
  return texts
}

interface StormState {
  /** Last acknowledged round, 0 for deleted. */
  readonly known: Map<number, number>
  /** Rounds without acknowledgement, which may or may not have happened. */
  readonly open: Map<number, number>
  last: number
}

function follow(state: StormState, output: string): void {
  for (const line of output.split('\n')) {
    const [, what, id, round] = /^(try|ok) (\d+) (\d+)$/.exec(line) ?? []
    if (what === undefined) continue
    if (what === 'try') state.open.set(Number(id), Number(round))
    else {
      state.open.delete(Number(id))
      state.known.set(Number(id), Number(round))
    }
    state.last = Math.max(state.last, Number(round))
  }
}

/** Compares the table with the acknowledged state, and resolves open rounds. */
function compare(state: StormState, texts: ReadonlyMap<string, string>): void {
  const others = [...texts.keys()].filter((id) => !id.startsWith('s')).length
  if (others !== STORM_ROWS) throw new Error(`${others} of ${STORM_ROWS} passages that were never changed are there`)
  for (let id = 0; id < IDS; id++) {
    const found = texts.get(`s${id}`)
    const allowed = [state.known.get(id) ?? 0, ...(state.open.has(id) ? [state.open.get(id) ?? 0] : [])]
    const right = allowed.find((round) => (round === 0 ? undefined : stormPassage(id, round).text) === found)
    if (right === undefined) throw new Error(`passage ${id} is ${found ?? 'absent'} where round ${allowed.join(' or ')} should be`)
    state.known.set(id, right)
  }
  state.open.clear()
}

async function storms(folder: string, kills: Kills, next: Random): Promise<void> {
  for (let table = 0; kills.isOpen(); table++) {
    const dir = join(folder, `storm${table}`)
    await indexedTable(dir, hashedWords, STORM_ROWS, (number) => embedWords(String(number)))
    const state: StormState = { known: new Map(), open: new Map(), last: 0 }
    for (let i = 0; i < KILLS_PER_TABLE && kills.isOpen(); i++) {
      const { output, killed } = await killedAfter(STORMING, [dir, String(state.last + 1)], next() * LONGEST_LIFE_MS)
      if (!killed) throw new Error('a storm ended by itself')
      kills.add()
      follow(state, output)
      compare(state, await textsIn(dir))
    }
    await rm(dir, { recursive: true })
  }
}

async function jobs(folder: string, kills: Kills, next: Random): Promise<void> {
  const dir = join(folder, 'jobs')
  await mkdir(dir)
  let expected = new Map<string, string>()
  for (let job = 1; kills.isOpen(); job++) {
    const replace = job % 3 === 0
    const passages = Array.from({ length: JOB_ROWS }, (_, i) => stormPassage(Math.floor((job * JOB_ROWS) / 2) + i, job))
    const corpus = join(dir, `${job}.jsonl`)
    await writeFile(corpus, passages.map((passage) => `${JSON.stringify(passage)}\n`).join(''))
    const args = (delay: number): string[] => [dir, corpus, String(delay), JSON.stringify({ replace })]
    for (let i = 0; i < KILLS_PER_JOB && kills.isOpen(); i++)
      if ((await killedAfter(INDEXING, args(20), next() * LONGEST_LIFE_MS)).killed) kills.add()
    const { code, stdout, stderr } = await finished(startNode(INDEXING, args(0)))
    if (code !== 0 || / (failed|stopped|cancelled) /.test(stdout)) throw new Error(stdout + stderr)
    expected = new Map([...(replace ? [] : expected), ...passages.map(({ id, text }) => [id, text] as const)])
    const texts = await textsIn(join(dir, 'index'))
    const wrong = [...expected].filter(([id, text]) => texts.get(id) !== text)
    if (texts.size !== expected.size || wrong.length > 0)
      throw new Error(`job ${job}: ${texts.size} rows of ${expected.size}, ${wrong.length} wrong`)
  }
}

if (import.meta.filename === process.argv[1]) {
  // Its runtime of models is not needed by the processes that are killed.
  const { benchOptions } = await import('../measure.ts')
  const options = benchOptions({ storms: '100', jobs: '100', seed: '1' })
  const next = uniform(options.integer('seed'))
  // Kept if something is wrong in it.
  const folder = await mkdtemp(join(tmpdir(), 'cepe-kills-'))
  for (const [name, run] of Object.entries({ storms, jobs })) {
    const kills = killCount(name, options.integer(name))
    if (!kills.isOpen()) continue
    await run(folder, kills, next)
    console.log(`${name}: nothing lost, doubled or wrong`)
  }
  await rm(folder, { recursive: true })
}
