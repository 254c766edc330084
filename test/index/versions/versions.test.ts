import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createTable } from '../../../index/table/create.ts'
import { tableFolder } from '../../../index/versions/alias.ts'
import { connectLance } from '../../../index/table/lance.ts'
import { manifestFiles, versionsOf } from '../../../index/table/manifest.ts'
import { hashEmbedding, tempDir } from '../helpers.ts'

const STORED_AS = 'passages.v'
const VERSIONS = 60

await t.test('versions can be listed while others remove them', async (t) => {
  const dir = await tempDir(t)
  const connection = await connectLance(dir, 0)
  t.teardown(() => connection.close())
  const table = await createTable(connection, STORED_AS, hashEmbedding)
  for (let i = 0; i < VERSIONS; i++) await table.delete(`id = '${i}'`)
  const folder = tableFolder(dir, STORED_AS)

  let going = true
  let disturbed = 0
  const look = async (): Promise<void> => {
    const listed: number[] = []
    while (going) listed.push((await versionsOf(table)).length)
    t.same(
      listed,
      listed.toSorted((a, b) => b - a),
      'never fewer than later',
    )
  }
  const lookBare = async (): Promise<void> => {
    while (going) await table.listVersions().catch(() => disturbed++)
  }
  const looks = [look(), look(), lookBare()]
  for (const manifest of (await manifestFiles(folder)).slice(1)) {
    await rm(join(folder, '_versions', manifest))
    await sleep(2)
  }
  going = false
  await Promise.all(looks)
  t.comment(`${disturbed} bare looks met a version that went`)
  t.equal((await versionsOf(table)).length, 1)
})

await t.test('what else is wrong with a table is said as it comes', async (t) => {
  const dir = await tempDir(t)
  const connection = await connectLance(dir, 0)
  t.teardown(() => connection.close())
  const table = await createTable(connection, STORED_AS, hashEmbedding)
  table.close()
  await t.rejects(versionsOf(table), /closed/)
})
