import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { contentHash } from '../../index/hash.ts'
import { parseJson } from '../../base/json.ts'
import { processesWith, runCli } from '../helpers/cli.ts'
import { tinyShared } from '../helpers/service-settings.ts'
import { storedRows } from '../helpers/stored-rows.ts'
import { somePassages, tempDir } from '../index/helpers.ts'
import { toTsv } from '../jobs/helpers.ts'

const PASSAGES = 200
const KILLS = 3

/** Numbers from 0 to 1, the same ones every time (Lehmer). */
function random(seed: number) {
  return () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647
}

async function untilAnswers(worker: ChildProcess, count: number): Promise<void> {
  let text = ''
  for await (const chunk of worker.stdout ?? []) {
    text += String(chunk)
    if (text.split('\n').length > count) return
  }
}

await t.test('workers and commits killed again and again end with the planned table', { timeout: 380_000 }, async (t) => {
  const dir = await tempDir(t)
  const shardDir = path.join(dir, 'place')
  const corpus = path.join(dir, 'corpus.tsv')
  await writeFile(corpus, toTsv(somePassages(PASSAGES)))
  const env = tinyShared(dir)
  const next = random(7)
  const run = (...args: string[]) => runCli(args, env)
  const planned = await run('index', 'plan', corpus, '--out', shardDir, '--shard-rows', '25')
  t.match(planned, { code: 0, stdout: `${shardDir}: ${PASSAGES} passages in 8 shards, 0 lines rejected\n` })
  t.match(await run('index', 'commit', shardDir), { code: 1, stderr: /8 of 8 shards have no vectors \(0 to 7\)/ })

  for (let kills = 0; kills < 2; kills++) {
    const { stdout: pending } = await run('index', 'pending', shardDir)
    const worker = spawn(process.execPath, ['dist/src/cli.js', 'embed-worker', shardDir], { env, stdio: ['pipe', 'pipe', 'ignore'] })
    const gone = once(worker, 'close')
    worker.stdin.end(pending)
    await untilAnswers(worker, 2)
    await sleep(next() * 300)
    worker.kill('SIGKILL')
    await gone
  }
  const left = (await run('index', 'pending', shardDir)).stdout.trim().split('\n')
  t.ok(left.length > 0 && left.length < 8, `${left.length} shards are left`)
  const worker = spawn(process.execPath, ['dist/src/cli.js', 'embed-worker', shardDir], { env, stdio: ['pipe', 'pipe', 'inherit'] })
  worker.stdin.end(`${left.join('\n')}\n{"shard":8}\n`)
  const answers = (await worker.stdout.map(String).toArray()).join('').trim().split('\n').map(parseJson)
  t.match(answers[0], { state: 'ready', shards: 8, passages: PASSAGES })
  t.match(answers.slice(1), [
    ...left.map((line) => ({ ...(parseJson(line) as object), state: 'done' })),
    { shard: 8, state: 'failed', code: 'not_found' },
  ])
  if (worker.exitCode === null) await once(worker, 'exit')
  t.equal(worker.exitCode, 1, 'one shard was left out')
  t.equal((await run('index', 'pending', shardDir)).stdout, '')

  let ended = 0
  for (let kills = 0; kills < KILLS; kills++) {
    const controller = new AbortController()
    const timer = setTimeout(() => controller.abort(), 700 + next() * 2500)
    if ((await runCli(['index', 'commit', shardDir, '--replace'], env, controller.signal)).code === 0) ended++
    clearTimeout(timer)
  }
  const committed = await run('index', 'commit', shardDir, '--replace')
  t.match(committed, { code: 0, stdout: / done {2}corpus\.tsv {2}200\/200 committed/ }, `after ${KILLS - ended} kills`)
  const rows = await storedRows(env.CEPE_INDEX_DIR)
  const expected = somePassages(PASSAGES).map((passage) => `${passage.id} ${contentHash({ ...passage, source: 'corpus.tsv' })}`)
  t.same(
    rows.map(([row]) => row),
    expected.sort(),
  )
  const tables = (await readdir(env.CEPE_INDEX_DIR)).filter((file) => file.endsWith('.lance'))
  t.ok(tables.length <= 2, 'the live table and at most the one before it')

  const alone = { ...env, CEPE_INDEX_DIR: path.join(dir, 'alone') }
  t.match(await runCli(['index', 'add', corpus], alone), { code: 0 })
  const [one, other] = [new Map(await storedRows(alone.CEPE_INDEX_DIR)), new Map(rows)]
  const furthest = [...one].flatMap(([row, vector]) => vector.map((bits, i) => Math.abs(bits - (other.get(row)?.[i] ?? Infinity))))
  t.ok(Math.max(...furthest) <= 1, 'vectors as one process makes them, to the last bit of float16: what is embedded together differs')
  // A process that was loading its model when its parent was killed ends then.
  for (let i = 0; i < 20 && (await processesWith(dir)).length > 0; i++) await sleep(500)
  t.same(await processesWith(dir), [], 'no process is left')
})
