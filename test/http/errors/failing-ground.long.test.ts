import { existsSync } from 'node:fs'
import { mkdir, readdir, rename, rm, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { filesUnder } from '../../../base/files.ts'
import { tempDir } from '../../index/helpers.ts'
import { CHANGES, filled, put, served, TSV, type Call } from './served.ts'

async function replace(call: Call): Promise<void> {
  const { json } = await call('POST', '/v1/admin/index-jobs?replace=true', TSV)
  for (let state = ''; state !== 'done'; await sleep(50))
    state = String((await call('GET', `/v1/admin/index-jobs/${String(json.id)}`)).json.state)
}

for (const left of ['an empty folder', 'an index of another process', 'nothing'])
  await t.test(`no change is acknowledged while the folder of the index is unmounted, which leaves ${left}`, async (t) => {
    const dir = await tempDir(t)
    const { call } = await filled(t, dir)
    const [index, away] = [join(dir, 'index'), join(dir, 'away')]
    for (const round of left === 'nothing' ? [0] : [0, 1]) {
      await rename(index, away)
      if (left !== 'nothing') await mkdir(index)
      if (left === 'an index of another process') {
        const another = await served(t, dir)
        t.match(await put(another.call, 'foreign'), { status: 200 })
        await another.end()
      }
      for (const [name, change] of Object.entries(CHANGES)) {
        t.match(await change(call), { status: 503, json: { error: { code: 'index_missing', message: /mount/ } } }, name)
      }
      const replacing = await call('POST', '/v1/admin/index-jobs?replace=true', TSV)
      t.match(replacing, { status: 503, json: { error: { code: 'index_missing' } } })
      t.match(await call('GET', '/readyz'), { status: 503, json: { ready: false } })
      for (const id of ['kept', 'foreign'])
        t.match(await call('GET', `/v1/passages/${id}`), { status: 503, json: { error: { code: 'index_missing', message: /mount/ } } }, id)
      t.equal(existsSync(index), left !== 'nothing', 'nothing is made in its place')
      if (left === 'an empty folder') t.same(await readdir(index), [])
      await rm(index, { recursive: true, force: true })
      await rename(away, index)
      t.match(await call('GET', '/v1/passages/kept'), { status: 200 })
      t.match(await put(call, `after${round}`), { status: 200, json: { upserted: 1 } })
      t.match(await call('GET', `/v1/passages/after${round}`), { status: 200 })
      t.match(await call('GET', '/readyz'), { status: 200 })
    }
    t.match(await CHANGES['put passages of a collection']?.(call), { status: 200 })
  })

await t.test('a table whose name is removed is begun anew by a replacing job alone', async (t) => {
  const dir = await tempDir(t)
  const { call } = await filled(t, dir)
  await rm(join(dir, 'index', 'passages.alias.json'))
  for (const name of ['put passages', 'delete a passage', 'an upload', 'an import'])
    t.match(
      await CHANGES[name]?.(call),
      { status: 503, json: { error: { code: 'index_invalid', message: /alias\.json is missing/ } } },
      name,
    )
  await replace(call)
  t.match(await put(call, 'new'), { status: 200, json: { upserted: 1 } })
  t.match(await call('GET', '/v1/passages/j1'), { status: 200 })
})

const LOSSES: Readonly<Record<string, (folder: string) => Promise<void>>> = {
  deleted: (folder) => rm(folder, { recursive: true }),
  damaged: async (folder) => {
    for (const file of await filesUnder(join(folder, 'data'))) await truncate(file, 1)
  },
}
for (const [how, lose] of Object.entries(LOSSES))
  await t.test(
    `a table that is ${how} is 503 index_invalid for reads and changes, and not ready, before and after a restart`,
    async (t) => {
      const dir = await tempDir(t)
      const first = await filled(t, dir)
      const name = (await readdir(join(dir, 'index'))).find((entry) => /^passages\..*\.lance$/.test(entry)) ?? ''
      await lose(join(dir, 'index', name))
      const check = async (call: Call): Promise<void> => {
        const expected = { status: 503, json: { error: { code: 'index_invalid', message: /missing, incomplete or changed/ } } }
        for (const change of ['put passages', 'delete a passage', 'delete by filter'])
          t.match(await CHANGES[change]?.(call), expected, change)
        t.match(await call('GET', '/v1/passages/kept'), expected)
        t.match(await call('POST', '/v1/search', { query: 'text', method: 'dense' }), expected)
        t.match(await call('GET', '/readyz'), { status: 503, json: { ready: false } })
      }
      await check(first.call)
      await first.end()
      const { call } = await served(t, dir)
      await check(call)
      await replace(call)
      t.match(await put(call, 'new'), { status: 200 })
      t.match(await call('GET', '/readyz'), { status: 200 })
    },
  )
