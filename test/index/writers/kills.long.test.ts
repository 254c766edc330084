import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { closing } from '../../../base/files.ts'
import { openIndex } from '../../../index/open.ts'
import { embedWords, hashedWords } from '../../fixtures/hashed-words.ts'
import { IDS, stormPassage } from '../../fixtures/storm-passages.ts'
import { uniform } from '../../fixtures/synthetic-checkpoint.ts'
import { indexedTable } from '../../fixtures/synthetic-table.ts'
import { builtForTests, collect, finished, startNode } from '../../helpers/processes.ts'
import { tempDir } from '../helpers.ts'

/** Kills of each kind at random moments; `KILLS=500 SEED=7` for more, and others. */
const { KILLS = '15', SEED = '1' } = process.env
const LONGEST_LIFE_MS = 900
const KILLS_PER_TABLE = 25
const KILLS_PER_JOB = 4
const STORM_ROWS = 1200
const JOB_ROWS = 1500

const STORMING = builtForTests('test/index/processes/storming-process.js')
const INDEXING = builtForTests('test/index/processes/indexing-process.js')
const next = uniform(Number(SEED))

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

t.test('after kills amid puts, deletes and compactions every acknowledged change is there once', async (t) => {
  for (let kills = 0; kills < Number(KILLS);) {
    const dir = await tempDir(t)
    await indexedTable(dir, hashedWords, STORM_ROWS, (number) => embedWords(String(number)))
    const state: StormState = { known: new Map(), open: new Map(), last: 0 }
    for (let i = 0; i < KILLS_PER_TABLE && kills < Number(KILLS); i++, kills++) {
      const { output, killed } = await killedAfter(STORMING, [dir, String(state.last + 1)], next() * LONGEST_LIFE_MS)
      t.ok(killed, 'a storm does not end by itself')
      follow(state, output)
      compare(state, await textsIn(dir))
    }
    t.ok(state.known.size > 0, 'changes were acknowledged')
  }
})

t.test('after kills amid jobs that add and replace, repeating them leaves every row once', async (t) => {
  const dir = await tempDir(t)
  let expected = new Map<string, string>()
  let kills = 0
  for (let job = 1; kills < Number(KILLS); job++) {
    const replace = job % 3 === 0
    const passages = Array.from({ length: JOB_ROWS }, (_, i) => stormPassage(Math.floor((job * JOB_ROWS) / 2) + i, job))
    const corpus = join(dir, `${job}.jsonl`)
    await writeFile(corpus, passages.map((passage) => `${JSON.stringify(passage)}\n`).join(''))
    const args = (delay: number): string[] => [dir, corpus, String(delay), JSON.stringify({ replace })]
    for (let i = 0; i < KILLS_PER_JOB && kills < Number(KILLS); i++)
      if ((await killedAfter(INDEXING, args(20), next() * LONGEST_LIFE_MS)).killed) kills++
    const { code, stdout, stderr } = await finished(startNode(INDEXING, args(0)))
    t.notOk(code !== 0 || / (failed|stopped|cancelled) /.test(stdout), stdout + stderr)
    expected = new Map([...(replace ? [] : expected), ...passages.map(({ id, text }) => [id, text] as const)])
    t.same(await textsIn(join(dir, 'index')), expected)
  }
})
