import { readdir, utimes, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import type { Embed } from '../../index/contract.ts'
import { aliasPath, readAlias } from '../../index/versions/alias.ts'
import { pinForReading } from '../../index/versions/read-pins.ts'
import { randomRetriever } from '../fixtures/random-retriever.ts'
import { runCli } from '../helpers/cli.ts'
import { builtService } from '../helpers/service-settings.ts'
import { until } from '../helpers/until.ts'
import { embed, somePassages, tempDir } from '../index/helpers.ts'
import { toTsv, withJobs } from './helpers.ts'

async function tables(dir: string): Promise<string[]> {
  return (await readdir(dir)).filter((name) => name.endsWith('.lance')).map((name) => name.slice(0, -'.lance'.length))
}

/** As if the last replacement had been minutes ago. */
async function age(dir: string): Promise<void> {
  const then = new Date(Date.now() - 180_000)
  await utimes(aliasPath({ dir, table: 'passages' }), then, then)
  for (const name of await tables(dir)) await utimes(path.join(dir, `${name}.lance`), then, then)
}

async function corpus(dir: string, rows: number): Promise<string> {
  const file = path.join(dir, `${rows}.tsv`)
  await writeFile(file, toTsv(somePassages(rows)))
  return file
}

await t.test('a job that begins shortly after a replacement removes the replaced table at its end', async (t) => {
  const dir = await tempDir(t)
  const index = path.join(dir, 'index')
  let whileEmbedding = () => Promise.resolve()
  const slow: Embed = async (texts) => {
    await whileEmbedding()
    return embed(texts)
  }
  const { jobs } = await withJobs(t, dir, { embed: slow })
  for (const rows of [20, 30]) await jobs.wait((await jobs.addFile(await corpus(dir, rows), { replace: true })).id)
  t.equal((await tables(index)).length, 2, 'a minute has not passed')
  t.match(await jobs.replacedTables(), [{ storedAs: String, bytes: Number }])
  whileEmbedding = () => age(index)
  await jobs.wait((await jobs.addFile(await corpus(dir, 40), {})).id)
  // The job has ended before it removes them.
  await until(async () => (await jobs.replacedTables()).length === 0)
  t.same(await tables(index), [await readAlias({ dir: index, table: 'passages' })])
})

await t.test('cleanup and compact count and remove replaced tables, but none that is read, or was replaced just now', async (t) => {
  const dir = await tempDir(t)
  const env = builtService(dir, { reader: path.join(dir, 'none'), retriever: await randomRetriever(dir, { seed: 7 }) })
  const indexDir = env.CEPE_INDEX_DIR
  const index = (...args: string[]) => runCli(['index', ...args], env)
  t.match(await index('add', await corpus(dir, 20)), { code: 0 })
  const first = (await readAlias({ dir: indexDir, table: 'passages' })) ?? ''
  t.match(await index('add', await corpus(dir, 30), '--replace'), { code: 0 })
  t.match((await index('status')).stdout, /^replaced tables: 1, \d+ kB \(removed once nothing reads them/m)
  t.match((await index('cleanup')).stdout, /^replaced tables: 1, \d+ kB/m, 'readers may not have noticed')
  await age(indexDir)
  t.match((await index('compact', '--dry-run')).stdout, /^replaced tables: 1/m)
  const pin = await pinForReading({ dir: indexDir, storedAs: first })
  t.match((await index('compact')).stdout, /^replaced tables: 1/m)
  t.equal((await tables(indexDir)).length, 2)
  await pin[Symbol.asyncDispose]()
  t.match((await index('cleanup')).stdout, /^1 replaced table removed$/m)
  t.same(await tables(indexDir), [await readAlias({ dir: indexDir, table: 'passages' })])
  t.notMatch((await index('status')).stdout, /replaced tables/)
})
