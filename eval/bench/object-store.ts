/**
 * A table in an object store against the same one in a folder: its commit, and how long a replica takes until it answers.
 * Usage: object-store.js --address s3://bucket/prefix [--rows 50000]; the store is reached by AWS_ENDPOINT_URL and its like. What
 * it makes beneath the address is removed at the end.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { openIndex } from '../../index/open.ts'
import { storeSettingsOf } from '../../index/store/environment.ts'
import { checkAddress } from '../../index/store/place.ts'
import { configureStores } from '../../index/store/settings.ts'
import { removeTree, treeBytes } from '../../index/store/tree.ts'
import { startMirror } from '../../index/table/mirror.ts'
import { benchOptions } from './arguments.ts'
import { clusteredVector } from './index-corpus.ts'
import { machine, table } from './measure.ts'
import { commitReady, readyPlace, SYNTHETIC } from './ready-place.ts'

const options = benchOptions({ rows: '50000', address: '' })
const rows = options.count('rows')
configureStores(storeSettingsOf(process.env))
const address = `${checkAddress(options.text('address'), '--address')}/bench.${process.pid}`
const SEARCHES = 20

const seconds = (from: number, to = performance.now()): string => ((to - from) / 1000).toFixed(1)

/** Takes the vectors into a table. @returns seconds for the writing, and for the rest */
async function commit(dir: string, local: string): Promise<[string, string]> {
  const place = await readyPlace(join(local, 'place'), rows)
  const { started, written, done } = await commitReady(place, dir, join(local, 'jobs', dir === local ? 'folder' : 'store'))
  return [seconds(started, written), seconds(written, done)]
}

/** @returns seconds until the first search is answered, and milliseconds of the median of those after it */
async function answering(dir: string): Promise<[string, string]> {
  const started = performance.now()
  const index = await openIndex({ dir, table: 'bench', model: SYNTHETIC, readOnly: true })
  await index.search(clusteredVector(1, rows), { k: 10 })
  const ready = seconds(started)
  const times: number[] = []
  for (let at = 0; at < SEARCHES; at++) {
    const from = performance.now()
    await index.search(clusteredVector((at * 997) % rows, rows), { k: 10 })
    times.push(performance.now() - from)
  }
  index.close()
  return [ready, (times.sort((a, b) => a - b)[SEARCHES / 2] ?? Number.NaN).toFixed(0)]
}

const local = await mkdtemp(join(tmpdir(), 'cepe-bench-object-store-'))
try {
  const inFolder = await commit(local, local)
  const inStore = await commit(address, local)
  const direct = await answering(address)
  const from = performance.now()
  const copy = join(local, 'copy')
  const mirror = await startMirror({ from: address, to: copy, table: 'bench' })
  await mirror.sync()
  const copied = seconds(from)
  mirror.close()
  const mirrored = await answering(copy)
  const megabytes = Math.round((await treeBytes(copy)) / 1e6)
  console.log(`# A table of ${rows.toLocaleString('en')} passages in an object store, ${megabytes} MB\n\n${machine(1)}\n`)
  console.log(
    table(
      ['', 'folder', 'object store'],
      [
        ['commit of ready vectors: writing, s', inFolder[0], inStore[0]],
        ['commit: read back, indexed, recall measured, s', inFolder[1], inStore[1]],
        ['replica: copying the table, s', '', copied],
        ['replica: opened, first search, s (of the copy; of the store)', mirrored[0], direct[0]],
        ['search, p50 ms (of the copy; of the store)', mirrored[1], direct[1]],
      ],
    ),
  )
} finally {
  await removeTree(address)
  await rm(local, { recursive: true, force: true })
}
