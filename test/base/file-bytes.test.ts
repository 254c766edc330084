import t from 'tap'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileBytes } from '../../base/file-bytes.ts'

await t.test('a missing file is the error of who reads it, whenever that is', async (t) => {
  const missing = join(t.testdir(), 'none.tsv')
  const bytes = fileBytes(missing)
  await sleep(50)
  await t.rejects(bytes.next(), { code: 'ENOENT' })
})
