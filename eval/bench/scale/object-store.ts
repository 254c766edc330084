/**
 * A table in an object store: the commit of ready vectors, killed as often as asked for, and how long a replica takes until it answers.
 * Usage: object-store.js --address s3://bucket/prefix [--rows 50000] [--dimension 768] [--kills 5] [--between 20]; the store is reached by
 * AWS_ENDPOINT_URL and its like (s3-server.py is one). --between is the seconds that a process lives at most before it is killed. What it
 * makes beneath the address is removed at the end.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { f32ToF16 } from '../../../base/binary16.ts'
import { sumFingerprints } from '../../../index/hash.ts'
import type { ShardDir } from '../../../index/ingest/shard-dir/shard-dir.ts'
import { openIndex } from '../../../index/open.ts'
import { storeSettingsOf } from '../../../index/store/object-store/environment.ts'
import { checkAddress } from '../../../index/store/object-store/address.ts'
import { configureStores } from '../../../index/store/object-store/settings.ts'
import { bytesUnder, storeOf } from '../../../index/store/store-of.ts'
import { readAlias } from '../../../index/versions/alias.ts'
import { connectLance } from '../../../index/table/lance.ts'
import { startReplicaCache } from '../../../index/replica/replica-cache.ts'
import { halvesOf, stringsOf } from '../../../index/table/rows.ts'
import { benchOptions } from '../arguments.ts'
import { clusteredVector } from '../../../test/fixtures/synthetic-corpus.ts'
import { machine, table } from '../measure.ts'
import { readyShardDir, synthetic } from './ready-shards.ts'
import { killedAfter, outputOf } from '../scripts.ts'
import { uniform } from '../../../test/fixtures/synthetic-checkpoint.ts'

const options = benchOptions({ rows: '50000', dimension: '768', kills: '5', between: '20', seed: '1', address: '' })
const [rows, dimension] = [options.count('rows'), options.count('dimension')]
configureStores(storeSettingsOf(process.env))
const address = `${checkAddress(options.text('address'), '--address')}/bench.${process.pid}`
const SEARCHES = 20

const seconds = (from: number, to = performance.now()): string => ((to - from) / 1000).toFixed(1)
const say = (text: string): void => console.log(`${new Date().toISOString().slice(11, 19)} ${text}`)

/** Commits the vectors by processes of which all but the last are killed. @returns the number of kills, and the last one's output */
async function commit(shardDir: ShardDir, jobs: string): Promise<[number, string]> {
  const script = fileURLToPath(new URL('./committing-process.js', import.meta.url))
  const next = uniform(options.count('seed'))
  let kills = 0
  for (let i = 0; i < options.count('kills'); i++) {
    const ms = next() * options.count('between') * 1000
    if (!(await killedAfter(script, [shardDir.folder, address, jobs], ms)).killed) break
    say(`killed after ${(ms / 1000).toFixed(1)} s`)
    kills++
  }
  return [kills, (await outputOf(script, [shardDir.folder, address, jobs])).split('\n').at(1) ?? '']
}

/** Compares every id, content and vector with the plan. @throws Error */
async function compare(shardDir: ShardDir): Promise<void> {
  const connection = await connectLance(address, 500)
  const stored = await connection.openTable((await readAlias(address, 'bench'))?.stored_as ?? '')
  const found: { id: string; hash: string }[] = []
  for await (const batch of stored.query().select(['id', 'hash', 'vector'])) {
    const [id, hash, halves] = [stringsOf(batch, 'id'), stringsOf(batch, 'hash'), halvesOf(batch)]
    for (let row = 0; row < batch.numRows; row++) {
      found.push({ id: id(row), hash: hash(row) })
      const wanted = f32ToF16(clusteredVector(Number(id(row)), rows, dimension))
      if (Buffer.compare(Buffer.from(wanted.buffer), Buffer.from(halves(row).slice().buffer)) !== 0)
        throw new Error(`the vector of ${id(row)} is another`)
    }
  }
  connection.close()
  if (found.length !== rows || sumFingerprints(found) !== shardDir.plan.digest) throw new Error('the table is not the planned one')
}

/** @returns seconds until the first search is answered, and median milliseconds of later ones */
async function answering(dir: string): Promise<[string, string]> {
  const started = performance.now()
  const index = await openIndex({ dir, table: 'bench', model: synthetic(dimension), readOnly: true })
  await index.search(clusteredVector(1, rows, dimension), { k: 10 })
  const ready = seconds(started)
  const times: number[] = []
  for (let at = 0; at < SEARCHES; at++) {
    const from = performance.now()
    await index.search(clusteredVector((at * 997) % rows, rows, dimension), { k: 10 })
    times.push(performance.now() - from)
  }
  index.close()
  return [ready, (times.sort((a, b) => a - b)[SEARCHES / 2] ?? Number.NaN).toFixed(0)]
}

const local = await mkdtemp(join(tmpdir(), 'cepe-bench-object-store-'))
try {
  const shardDir = await readyShardDir(join(local, 'shards'), rows, dimension)
  say(`${rows} vectors are ready`)
  const [kills, last] = await commit(shardDir, join(local, 'jobs'))
  say(`committed after ${kills} kills; the last process ${last}`)
  await compare(shardDir)
  say('the table is the planned one')
  const direct = await answering(address)
  const from = performance.now()
  const copy = join(local, 'copy')
  const mirror = await startReplicaCache({ from: address, to: copy, table: 'bench' })
  const copied = seconds(from)
  mirror.close()
  const mirrored = await answering(copy)
  const megabytes = Math.round((await bytesUnder(copy)) / 1e6)
  console.log(
    `# A table of ${rows.toLocaleString('en')} passages of ${dimension} numbers in an object store, ${megabytes} MB\n\n${machine(1)}\n`,
  )
  console.log(
    table(
      ['', 'measured'],
      [
        [
          `commit of ready vectors, killed ${kills} times; every id, content and number compared`,
          `the planned table; the last process ${last}`,
        ],
        ['replica: copying the table, s', copied],
        ['replica: opened, first search, s (of the copy; of the store)', `${mirrored[0]}; ${direct[0]}`],
        ['search, p50 ms (of the copy; of the store)', `${mirrored[1]}; ${direct[1]}`],
      ],
    ),
  )
} finally {
  await storeOf(address).files.removeTree(address)
  await rm(local, { recursive: true, force: true })
}
