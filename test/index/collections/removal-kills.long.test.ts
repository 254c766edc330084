import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { IndexCollections } from '../../../index/collections/collections.ts'
import { openIndex } from '../../../index/open.ts'
import { createSnapshot, listSnapshots } from '../../../index/snapshots/snapshots.ts'
import { embed, hashEmbedding, somePassages, tempDir } from '../helpers.ts'

const NAMES = Array.from({ length: 24 }, (_, i) => `c${i}`)
const ROUNDS = 6

await t.test('a process that is killed while it removes collections leaves each whole, or gone', { timeout: 120_000 }, async (t) => {
  const dir = await tempDir(t)
  const open = async () => new IndexCollections({ main: await openIndex({ dir, model: hashEmbedding }) })
  const first = await open()
  const passages = somePassages(3)
  const vectors = await embed(passages.map(({ title, text }) => `${title} ${text}`))
  for (const name of NAMES) {
    await first.create(name)
    await (await first.open(name)).upsert(passages, vectors)
    await createSnapshot('kept', { dir, table: name })
  }
  first.close()
  let cutOff = 0
  for (let round = 0; round < ROUNDS; round++) {
    const child = spawn(process.execPath, [fileURLToPath(new URL('remove-all.js', import.meta.url)), dir], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    t.teardown(() => child.kill('SIGKILL'))
    const closed = once(child, 'close')
    await once(child.stdout, 'data')
    await sleep(Math.random() * 60)
    child.kill('SIGKILL')
    await closed
    if ((await readdir(dir)).some((name) => name.endsWith('.removing'))) cutOff++
    const collections = await open()
    await collections.finishRemovals()
    const names = (await collections.names()).filter((name) => name !== 'passages')
    for (const name of names) {
      t.equal(await (await collections.open(name)).count(), 3, `${name} is whole`)
      t.match(await listSnapshots({ dir, table: name }), [{ name: 'kept', rows: 3 }])
    }
    const left = (await readdir(dir)).filter((name) => /\.(lance|snapshots|changes|removing|json)$/.test(name))
    t.same(
      left.filter((name) => !names.includes(name.split('.')[0] ?? '')),
      [],
      'of the others nothing is left',
    )
    collections.close()
  }
  t.comment(`${cutOff} of ${ROUNDS} kills came within a removal`)
})
