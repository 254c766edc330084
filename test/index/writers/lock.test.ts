import { mkdir, readdir, rename, rmdir, utimes, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { processTag, stateOf } from '../../../base/process-tag.ts'
import { isLockHeld, takeLock } from '../../../base/locks/lock.ts'
import { withLock } from '../../../index/writers/locks.ts'
import { tempDir } from '../helpers.ts'

const HOUR_AGO = new Date(Date.now() - 3_600_000)

/** The ticket of a process that is not here. */
async function ticketOf(folder: string, tag: string): Promise<string> {
  const path = join(folder, `000000000001_${tag}_0000aaaa.ticket`)
  await writeFile(path, '.')
  return path
}

await t.test('a lock that could not be given back is free once its folder can be written to again', async (t) => {
  const folder = join(await tempDir(t), 'lock')
  const lock = await takeLock(folder, 0)
  const [ticket = ''] = await readdir(folder)
  // A folder in the place of its file cannot be removed as a file is.
  await rename(join(folder, ticket), join(folder, 'away'))
  await mkdir(join(folder, ticket))
  await t.rejects(lock?.release() ?? Promise.resolve(), { code: 'ERR_FS_EISDIR' })
  await rmdir(join(folder, ticket))
  await rename(join(folder, 'away'), join(folder, ticket))
  const next = await takeLock(folder, 10_000)
  t.ok(next)
  await next?.release()
})

await t.test('the lock admits one at a time, in the order in which they came', async (t) => {
  const folder = join(await tempDir(t), 'lock')
  const first = await takeLock(folder, 0)
  t.ok(first)
  t.equal(await takeLock(folder, 0), undefined)
  const order: number[] = []
  let inside = 0
  const waiting: Promise<void>[] = []
  for (let i = 0; i < 8; i++) {
    waiting.push(
      withLock(folder, { waitMs: 10_000 }, async () => {
        t.equal(++inside, 1)
        order.push(i)
        await sleep(2)
        inside--
      }),
    )
    while ((await readdir(folder)).filter((name) => name.endsWith('.ticket')).length < i + 2) await sleep(1)
  }
  await first?.release()
  await Promise.all(waiting)
  t.same(order, [0, 1, 2, 3, 4, 5, 6, 7])
  t.same(await readdir(folder), [])
})

await t.test('a dead process holds nothing; one of another machine or container holds it as long as it shows life', async (t) => {
  const folder = join(await tempDir(t), 'lock')
  t.notOk(await isLockHeld(folder), 'nobody was ever there')
  await (await takeLock(folder, 0))?.release()
  const [place = '', pid = '', started = ''] = (await processTag()).split('-')
  for (const dead of [`${place}-${2 ** 22 + 1}-1`, `${place}-${pid}-${started}1`]) {
    await ticketOf(folder, dead)
    t.notOk(await isLockHeld(folder))
    const lock = await takeLock(folder, 0)
    t.ok(lock, `${dead} is gone`)
    t.ok(await isLockHeld(folder))
    await lock?.release()
  }
  // The same process id and start, as in two containers that were made alike: another place all the same.
  const elsewhere = `${'0'.repeat(16)}-${pid}-${started}`
  t.equal(await stateOf(elsewhere), 'elsewhere')
  const ticket = await ticketOf(folder, elsewhere)
  t.equal(await takeLock(folder, 100), undefined, 'it was there a moment ago')
  t.ok(await isLockHeld(folder))
  await utimes(ticket, HOUR_AGO, HOUR_AGO)
  t.notOk(await isLockHeld(folder))
  t.same(await readdir(folder), [basename(ticket)], 'a look leaves nothing')
  const lock = await takeLock(folder, 0)
  t.ok(lock, 'nothing was heard of it for an hour')
  t.same((await readdir(folder)).length, 1)
  await lock?.release()
})

await t.test('of two that try once at the same time, one has the lock', async (t) => {
  const folder = join(await tempDir(t), 'lock')
  for (let round = 0; round < 30; round++) {
    const locks = await Promise.all([takeLock(folder, 0), takeLock(folder, 0), takeLock(folder, 0)])
    const held = locks.filter((lock) => lock !== undefined)
    t.equal(held.length, 1)
    await Promise.all(held.map((lock) => lock.release()))
  }
})
