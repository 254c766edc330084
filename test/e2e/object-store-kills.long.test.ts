import t from 'tap'
import { runCli } from '../helpers/cli.ts'
import { somePassages } from '../index/helpers.ts'
import { folderOf, prepared, rowsAt, rowsOf, settingsOf, WITH_STORE } from '../helpers/object-store-process.ts'
import { startObjectStore } from '../helpers/object-store.ts'

await t.test('a commit killed again and again ends with the planned table', WITH_STORE, async (t) => {
  const store = await startObjectStore(t)
  const dir = await folderOf(t)
  const address = store.address()
  const env = settingsOf(store, dir, address)
  const [first, second] = [somePassages(200), somePassages(150, 120)]
  const places = [
    await prepared(t, { dir, env, name: 'first', passages: first }),
    await prepared(t, { dir, env, name: 'second', passages: second }),
  ]
  let seed = 11
  const next = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647
  for (const [at, place] of places.entries()) {
    const args = ['index', 'commit', place, ...(at === 0 ? ['--replace'] : [])]
    let kills = 0
    for (; kills < 5; kills++) {
      const controller = new AbortController()
      const timer = setTimeout(() => controller.abort(), 1500 + next() * 4000)
      const { code } = await runCli(args, env, controller.signal)
      clearTimeout(timer)
      if (code === 0) break
    }
    t.comment(`${kills} kills`)
    if (kills === 5) t.match(await runCli(args, env), { code: 0, stdout: / done / })
    const expected = new Map(rowsOf(first, 'first.tsv').map((row) => [row.split(' ')[0], row]))
    if (at === 1) for (const row of rowsOf(second, 'second.tsv')) expected.set(row.split(' ')[0], row)
    t.same(await rowsAt(address), [...expected.values()].sort())
  }
  t.match(await runCli(['index', 'sources'], env), { code: 0, stdout: /150\tsecond\.tsv\n120\tfirst\.tsv\n/ })
})
