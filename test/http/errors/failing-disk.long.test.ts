import { readdir } from 'node:fs/promises'
import t from 'tap'
import { SKIPS } from '../../helpers/skips.ts'
import { fill, remount, smallDisk, unfill } from '../../helpers/small-disk.ts'
import { tempDir } from '../../index/helpers.ts'
import { CHANGES, filled, put } from './served.ts'

const skip = (await smallDisk(t, 1)) === undefined ? SKIPS.mount : false

await t.test('on a full disk changes are 507, and what was there is read', { skip }, async (t) => {
  const disk = (await smallDisk(t, 16)) ?? ''
  const { call } = await filled(t, disk)
  fill(disk)
  for (const [name, change] of Object.entries(CHANGES)) {
    // Deleting frees space: it may succeed.
    if (name === 'delete a collection') continue
    const message = /^The disk of \S+ is full: free space and try again\./
    t.match(await change(call), { status: 507, json: { error: { code: 'disk_full', message } } }, name)
  }
  t.match(await call('GET', '/v1/passages/kept'), { status: 200 })
  const left = (await readdir(disk, { recursive: true })).filter((name) => /(?:fresh|copied)\.\w+\.lance$/.test(name))
  t.same(left, [], 'what could not be made is removed')
  unfill(disk)
  t.match(await put(call, 'after'), { status: 200 })
  t.match(await call('PUT', '/v1/collections/fresh'), { status: 201 })
})

await t.test('in a folder that cannot be written to changes are 503, and the service is not ready', { skip }, async (t) => {
  const disk = (await smallDisk(t, 16)) ?? ''
  const { call } = await filled(t, disk)
  remount(disk, 'ro')
  for (const [name, change] of Object.entries(CHANGES))
    t.match(await change(call), { status: 503, json: { error: { code: 'store_unavailable' } } }, name)
  t.match(await call('GET', '/readyz'), { status: 503, json: { checks: [{ name: 'index', ok: false, detail: /EROFS/ }] } })
  t.match(await call('GET', '/v1/passages/kept'), { status: 200 })
  remount(disk, 'rw')
  t.match(await put(call, 'after'), { status: 200 })
  t.match(await call('GET', '/readyz'), { status: 200 })
})

await t.test('without a file descriptor left a request is 503, and later ones are answered', async (t) => {
  const dir = await tempDir(t)
  const { call, tell } = await filled(t, dir, '400')
  await tell('take')
  const answers = [await CHANGES['put passages']?.(call), await CHANGES['a new collection']?.(call)]
  t.match(answers, Array(2).fill({ status: 503, json: { error: { code: 'overloaded', message: /file descriptor/ } } }))
  await tell('give')
  t.match(await put(call, 'after'), { status: 200 })
  t.match(await call('PUT', '/v1/collections/fresh'), { status: 201 })
})
