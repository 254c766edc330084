import { existsSync } from 'node:fs'
import { chown, stat, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { makeFolder, openPrivate } from '../../base/durable.ts'

t.test('folders are made with those above them, by several at once too', async (t) => {
  const deep = path.join(t.testdir(), 'a/b/c/d')
  await Promise.all(Array.from({ length: 8 }, () => makeFolder(deep)))
  t.ok(existsSync(deep))
  await t.resolves(makeFolder(deep), 'one that is there')
})

t.test('what cannot be made fails with the reason', async (t) => {
  const file = path.join(t.testdir(), 'file')
  await writeFile(file, '')
  await t.rejects(makeFolder(file), { code: 'EEXIST' })
  await t.rejects(makeFolder(path.join(file, 'a/b')), { code: 'ENOTDIR' })
})

t.test('a file system that makes nothing', { skip: existsSync('/proc/self') ? false : 'there is no /proc' }, async (t) => {
  for (const folder of ['/proc/none', '/proc/none/index']) await t.rejects(makeFolder(folder), { code: 'ENOENT' }, folder)
})

t.test('a link in the folder of another user gives that user no file of root', async (t) => {
  const owner = process.getuid?.() === 0 ? 65_534 : (process.getuid?.() ?? 0)
  const [folder, file] = [path.join(t.testdir({ theirs: {} }), 'theirs'), path.join(t.testdirName, 'private')]
  await writeFile(file, '')
  await chown(folder, owner, -1)
  await symlink(file, path.join(folder, 'log'))
  await (await openPrivate(path.join(folder, 'log'))).close()
  t.equal((await stat(file)).uid, process.getuid?.())
})
