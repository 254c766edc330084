/**
 * Kills the real service, with its child processes, at random moments of index jobs, restarts it, and compares what is in
 * the table at the end of each job with what was planned, ids and contents. Some jobs are cancelled in between.
 * The service is started from dist each time: a build meanwhile breaks it.
 * Usage: index-crash.js [--kills 50] [--seed 1] [--rows 20000] [--reader models/built/cepe] [--retriever models/built/contriever]
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readAlias } from '../../../index/versions/alias.ts'
import { contentHash } from '../../../index/hash.ts'
import { connectLance } from '../../../index/table/lance.ts'
import { SHARD_ROWS } from '../../../index/ingest/plan/contract.ts'
import { stringAt } from '../../../index/table/rows.ts'
import type { Passage } from '../../../index/contract.ts'
import { chunks } from '../../../index/table/write.ts'
import { isSettled, type Job } from '../../../src/jobs/schema.ts'
import { benchOptions } from '../arguments.ts'
import { syntheticPassage } from '../../../test/fixtures/synthetic-corpus.ts'
import { uniform } from '../../../test/fixtures/synthetic-checkpoint.ts'

const options = benchOptions({
  kills: '50',
  seed: '1',
  rows: '20000',
  reader: 'models/built/cepe',
  retriever: 'models/built/contriever',
})
const KEY = 'a-key-for-the-crash-test'
const headers = { authorization: `Bearer ${KEY}` }
/** Kills per job; then it may finish, or is cancelled for good. */
const KILLS_PER_JOB = 10
/** Of so many jobs the last replaces the corpus, the others add to it; of so many the last is cancelled. */
const REPLACE_EVERY = 3
const CANCEL_EVERY = 4
const LONGEST_LIFE_MS = 6000
const KEPT_OUTPUT = 4000

interface Service {
  readonly url: string
  /** SIGKILL for the whole process group. */
  kill(): Promise<void>
}

async function start(dir: string): Promise<Service> {
  const child = spawn(process.execPath, ['dist/src/cli.js', 'serve', '--port', '0'], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      CEPE_READER_DIR: resolve(options.text('reader')),
      CEPE_RETRIEVER_DIR: resolve(options.text('retriever')),
      CEPE_READER_CHECKPOINT: join(dir, 'none'),
      CEPE_RETRIEVER_CHECKPOINT: join(dir, 'none'),
      CEPE_INDEX_DIR: join(dir, 'index'),
      CEPE_CORPUS: '',
      CEPE_DEMONSTRATIONS: '',
      CEPE_ADMIN_KEY: KEY,
    },
  })
  const exit = once(child, 'exit')
  let output = ''
  let killed = false
  const url = await new Promise<string>((done, fail) => {
    child.stdout.on('data', (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-KEPT_OUTPUT)
    })
    child.stderr.on('data', (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-KEPT_OUTPUT)
      const found = /answering questions at (http:\/\/\S+)/i.exec(output)?.[1]
      if (found !== undefined) done(found)
    })
    child.once('exit', (code, signal) => {
      if (!killed) console.error(`the service ended by itself (code ${code}, signal ${signal}): ${output}`)
      fail(new Error('the service ended by itself'))
    })
  })
  return {
    url,
    kill: async () => {
      killed = true
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
      await exit
    },
  }
}

function corpusOf(passages: readonly Passage[]): string {
  return `id\ttext\ttitle\n${passages.map((p) => `${p.id}\t${p.text}\t${p.title}\n`).join('')}`
}

async function post(service: Service, passages: readonly Passage[], replace: boolean): Promise<string> {
  const response = await fetch(`${service.url}/v1/admin/index-jobs?label=crash&replace=${String(replace)}`, {
    method: 'POST',
    body: corpusOf(passages),
    headers: { ...headers, 'content-type': 'text/tab-separated-values' },
  })
  const { id } = (await response.json()) as Job
  return id
}

async function jobOf(service: Service, id: string): Promise<Job> {
  return (await (await fetch(`${service.url}/v1/admin/index-jobs/${id}`, { headers })).json()) as Job
}

/** Content hash by id. */
type Rows = ReadonlyMap<string, string>

/** The rows of the live table. @throws Error if an id is in it twice. */
async function stored(dir: string): Promise<Rows> {
  const connection = await connectLance(join(dir, 'index'), 0)
  const alias = await readAlias(join(dir, 'index'), 'passages')
  const rows = await (await connection.openTable(alias?.stored_as ?? '')).query().select(['id', 'hash']).toArrow()
  connection.close()
  const found = new Map(Array.from({ length: rows.numRows }, (_, row) => [stringAt(rows, 'id', row), stringAt(rows, 'hash', row)]))
  if (found.size !== rows.numRows) throw new Error(`${rows.numRows} rows have ${found.size} ids`)
  return found
}

function cancel(service: Service, id: string): Promise<Response> {
  return fetch(`${service.url}/v1/admin/index-jobs/${id}`, { method: 'DELETE', headers })
}

async function settled(service: Service, id: string): Promise<Job> {
  for (;;) {
    const job = await jobOf(service, id)
    if (isSettled(job.state)) return job
    await sleep(200)
  }
}

/** Rows after a job that was cancelled: those before it, replaced and added to by none or all of the rows of each of its shards. */
function afterCancelled(before: Rows, passages: readonly Passage[], found: Rows): Rows {
  const expected = new Map(before)
  for (const shard of chunks(passages, SHARD_ROWS)) {
    const fresh = shard.find((passage) => before.get(passage.id) !== contentHash(passage))
    if (fresh === undefined || found.get(fresh.id) !== contentHash(fresh)) continue
    for (const passage of shard) expected.set(passage.id, contentHash(passage))
  }
  return expected
}

const next = uniform(options.count('seed'))
const rows = options.count('rows')
const dir = await mkdtemp(join(tmpdir(), 'cepe-crash-'))
let expected: Rows = new Map()
let kills = 0
let service = await start(dir)
try {
  for (let job = 1; kills < options.count('kills'); job++) {
    const replace = job % REPLACE_EVERY === 0
    const cancelling = job % CANCEL_EVERY === 0
    // Half of an added corpus is known already.
    const passages = Array.from({ length: rows }, (_, i) => ({ ...syntheticPassage((job - 1) * (rows / 2) + i), source: 'crash' }))
    const id = await post(service, passages, replace)
    for (let i = 0; i < KILLS_PER_JOB && kills < options.count('kills'); i++) {
      await sleep(next() * LONGEST_LIFE_MS)
      if (isSettled((await jobOf(service, id)).state)) break
      // The last lives only: before them the job is to get somewhere. The kill may come before the answer.
      if (cancelling && i >= KILLS_PER_JOB / 2) {
        cancel(service, id).catch(() => undefined)
        await sleep(next() * 300)
      }
      await service.kill()
      kills++
      service = await start(dir)
    }
    if (cancelling) await cancel(service, id)
    const { state, error } = await settled(service, id)
    const found = await stored(dir)
    const whole = new Map([...(replace ? [] : expected), ...passages.map((passage) => [passage.id, contentHash(passage)] as const)])
    const wanted = state === 'done' ? whole : replace ? expected : afterCancelled(expected, passages, found)
    const same =
      (state === 'done' || (cancelling && state === 'cancelled')) &&
      found.size === wanted.size &&
      [...found].every(([passage, hash]) => wanted.get(passage) === hash)
    console.log(
      `job ${job} (${replace ? 'replace' : 'add'}): ${state} after ${kills} kills so far, ${found.size} rows, ${same ? 'exactly those that should be' : `NOT the ${wanted.size} that should be`}`,
    )
    if (!same) throw new Error(`job ${id} in ${dir}: ${JSON.stringify(error)}`)
    expected = found
  }
  console.log(`${kills} kills, nothing lost, nothing twice`)
} finally {
  // A service that ended by itself is no longer there to be killed; the error that is on its way says why.
  await service.kill().catch(() => undefined)
}
await rm(dir, { recursive: true, force: true })
