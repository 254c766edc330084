/**
 * Kills the real service, with its child processes, at random moments of index jobs, restarts it, and compares what is in
 * the table at the end of each job with what was planned, ids and contents.
 * Usage: index-crash.js [--kills 50] [--seed 1] [--rows 20000] [--reader models/built/cepe] [--retriever models/built/contriever]
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { readAlias } from '../../index/alias.ts'
import { contentHash } from '../../index/hash.ts'
import { connectLance } from '../../index/lance.ts'
import { stringAt } from '../../index/rows.ts'
import type { Passage } from '../../index/types.ts'
import type { Job } from '../../src/jobs/schema.ts'
import { syntheticPassage } from './index-corpus.ts'
import { uniform } from './synthetic-checkpoint.ts'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '50' },
    seed: { type: 'string', default: '1' },
    rows: { type: 'string', default: '20000' },
    reader: { type: 'string', default: 'models/built/cepe' },
    retriever: { type: 'string', default: 'models/built/contriever' },
  },
})
const KEY = 'a-key-for-the-crash-test'
const headers = { authorization: `Bearer ${KEY}` }
/** Kills per job; then it may finish. */
const KILLS_PER_JOB = 10
const LONGEST_LIFE_MS = 6000
const KEPT_OUTPUT = 4000

interface Service {
  readonly url: string
  /** SIGKILL for the whole process group. */
  kill(): Promise<void>
}

const start = async (dir: string): Promise<Service> => {
  const child = spawn(process.execPath, ['dist/src/cli.js', 'serve', '--port', '0'], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      CEPE_READER_DIR: resolve(values.reader),
      CEPE_RETRIEVER_DIR: resolve(values.retriever),
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

const corpusOf = (passages: readonly Passage[]): string => `id\ttext\ttitle\n${passages.map((p) => `${p.id}\t${p.text}\t${p.title}\n`).join('')}`

const post = async (service: Service, passages: readonly Passage[], replace: boolean): Promise<string> => {
  const response = await fetch(`${service.url}/v1/admin/index-jobs?label=crash&replace=${String(replace)}`, { method: 'POST', body: corpusOf(passages), headers: { ...headers, 'content-type': 'text/tab-separated-values' } })
  const { id } = (await response.json()) as Job
  return id
}

const jobOf = async (service: Service, id: string): Promise<Job> => (await (await fetch(`${service.url}/v1/admin/index-jobs/${id}`, { headers })).json()) as Job

/** "id hash" of every row of the live table, sorted. */
const stored = async (dir: string): Promise<string[]> => {
  const connection = await connectLance(join(dir, 'index'), 0)
  const alias = await readAlias(join(dir, 'index'), 'passages')
  const rows = await (await connection.openTable(alias?.stored_as ?? '')).query().select(['id', 'hash']).toArrow()
  connection.close()
  return Array.from({ length: rows.numRows }, (_, row) => `${stringAt(rows, 'id', row)} ${stringAt(rows, 'hash', row)}`).sort()
}

const next = uniform(Number(values.seed))
const rows = Number(values.rows)
const dir = await mkdtemp(join(tmpdir(), 'cepe-crash-'))
const expected = new Map<string, string>()
let kills = 0
let service = await start(dir)
try {
  for (let job = 0; kills < Number(values.kills); job++) {
    // Every third job replaces the corpus; the others add, half of it known already.
    const replace = job % 3 === 2
    const passages = Array.from({ length: rows }, (_, i) => ({ ...syntheticPassage(job * (rows / 2) + i), source: 'crash' }))
    const id = await post(service, passages, replace)
    if (replace) expected.clear()
    for (const passage of passages) expected.set(passage.id, contentHash(passage))
    for (let i = 0; i < KILLS_PER_JOB && kills < Number(values.kills); i++) {
      await sleep(next() * LONGEST_LIFE_MS)
      if ((await jobOf(service, id)).state === 'done') break
      await service.kill()
      kills++
      service = await start(dir)
    }
    let current = await jobOf(service, id)
    while (!['done', 'failed', 'stopped', 'cancelled'].includes(current.state)) {
      await sleep(200)
      current = await jobOf(service, id)
    }
    const found = await stored(dir)
    const wanted = [...expected].map(([passage, hash]) => `${passage} ${hash}`).sort()
    const same = current.state === 'done' && found.length === wanted.length && found.every((row, i) => row === wanted[i])
    console.log(`job ${job + 1} (${replace ? 'replace' : 'add'}): ${current.state} after ${kills} kills so far, ${found.length} rows, ${same ? 'exactly the planned ones' : `NOT the planned ${wanted.length}`}`)
    if (!same) throw new Error(`job ${id} in ${dir}: ${JSON.stringify(current.error)}`)
  }
  console.log(`${kills} kills, nothing lost, nothing twice`)
} finally {
  // A service that ended by itself is no longer there to be killed; the error that is on its way says why.
  await service.kill().catch(() => undefined)
}
await rm(dir, { recursive: true, force: true })
