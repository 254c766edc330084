import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { passageText, type Passage } from '../../../index/contract.ts'
import { contentHash } from '../../../index/hash.ts'
import { openIndex } from '../../../index/open.ts'
import { buildIndexes } from '../../../index/search/ann.ts'
import { readAlias, writeAlias } from '../../../index/versions/alias.ts'
import { createTable } from '../../../index/table/create.ts'
import { connectLance, type Table } from '../../../index/table/lance.ts'
import { arrowTable, packVectors, stringsOf } from '../../../index/table/rows.ts'
import { removeDoubles } from '../../../index/table/write.ts'
import { embed, embedText, hashEmbedding, somePassages, tempDir } from '../helpers.ts'

async function vectorsOf(passages: readonly Passage[]): Promise<Float32Array[]> {
  return embed(passages.map(passageText))
}

async function append(table: Table, passages: readonly Passage[]): Promise<void> {
  const halves = packVectors(passages, await vectorsOf(passages), hashEmbedding.dimension)
  await table.add(arrowTable({ passages, hashes: passages.map(contentHash), halves }, hashEmbedding.dimension))
}

/** An index of 1500 passages that is searched through a vector index, with an index of the ids. */
async function indexed(t: Parameters<typeof tempDir>[0], rows = 1500) {
  const dir = await tempDir(t)
  const connection = await connectLance(dir, 0)
  t.teardown(() => connection.close())
  const table = await createTable(connection, 'passages.a', hashEmbedding)
  await append(table, somePassages(rows))
  t.ok(await buildIndexes(table, { exactBelow: 1000, minRecall: 0.9, sample: 8 }))
  await writeAlias({ dir, table: 'passages' }, 'passages.a')
  return { dir, table }
}

async function storedIds(dir: string): Promise<string[]> {
  const connection = await connectLance(dir, 0)
  const alias = await readAlias({ dir, table: 'passages' })
  const rows = await (await connection.openTable(alias ?? '')).query().select(['id']).toArrow()
  connection.close()
  return Array.from({ length: rows.numRows }, (_, row) => stringsOf(rows, 'id')(row))
}

await t.test('writers, readers and tidying at once on a table with a vector index: nobody fails', { timeout: 120_000 }, async (t) => {
  const { dir } = await indexed(t)
  const warnings: string[] = []
  const index = await openIndex({
    dir,
    model: hashEmbedding,
    consistencyMs: 0,
    compactAfter: 5,
    onWarning: (message) => warnings.push(message),
  })
  t.teardown(() => index.close())
  let writing = true
  const writer = async (number: number): Promise<void> => {
    for (let i = 0; i < 12; i++) {
      const passages = somePassages(3, 10_000 + number * 1000 + i * 3)
      await index.upsert(passages, await vectorsOf(passages))
      if (i % 4 === 3) t.equal(await index.delete([passages[0]?.id ?? '']), 1)
    }
  }
  const reads = { done: 0 }
  const reader = async (number: number): Promise<void> => {
    while (writing) {
      const hits = await index.view().then((view) => view.search(embedText('lagoon summit'), { k: 3 }))
      if (hits.length !== 3) t.fail(`${hits.length} hits`)
      if (number === 0) await index.info()
      if (number === 1) await index.version()
      if (number === 2) t.ok(await index.get('p7'))
      reads.done++
    }
  }
  const readers = [0, 1, 2, 3].map(reader)
  await Promise.all([0, 1, 2].map(writer))
  writing = false
  await Promise.all(readers)
  t.ok(reads.done > 20, `${reads.done} rounds of reading`)
  t.same(warnings, [])
  t.equal(await index.count(), 1500 + 3 * (12 * 3 - 3))
})

await t.test('one new id from many requests at once is one row', async (t) => {
  const { dir } = await indexed(t)
  const handles = await Promise.all([0, 1].map(() => openIndex({ dir, model: hashEmbedding })))
  t.teardown(() => handles.forEach((index) => index.close()))
  for (let round = 0; round < 5; round++) {
    const passages = somePassages(5, 5000 + round * 5)
    const vectors = await vectorsOf(passages)
    await Promise.all([...handles, ...handles].map((index) => index.upsert(passages, vectors)))
  }
  const ids = await storedIds(dir)
  t.equal(ids.length, 1525)
  t.equal(new Set(ids).size, 1525)
})

await t.test('contended inserts with retries from three processes: one row an id', { timeout: 120_000 }, async (t) => {
  const { dir } = await indexed(t)
  const children = ['a', 'b', 'c'].map((source) =>
    spawn(process.execPath, ['dist-test/test/index/processes/inserting-process.js', dir, '100', '50000', source], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { PATH: process.env.PATH },
    }),
  )
  const outputs = children.map((child) => {
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
    return once(child, 'close').then(() => output)
  })
  for (const output of await Promise.all(outputs)) t.match(output, /failed 0\n/)
  const ids = await storedIds(dir)
  t.equal(ids.length, 1600)
  t.equal(new Set(ids).size, 1600)
})

await t.test('killed writers block nobody and leave one row an id', { timeout: 120_000 }, async (t) => {
  const { dir } = await indexed(t)
  const start = (source: string): ChildProcess =>
    spawn(process.execPath, ['dist-test/test/index/processes/inserting-process.js', dir, '20000', '50000', source], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { PATH: process.env.PATH },
    })
  const index = await openIndex({ dir, model: hashEmbedding })
  t.teardown(() => index.close())
  for (let round = 0; round < 4; round++) {
    const children = ['a', 'b'].map(start)
    await Promise.all(children.map(async (child) => (child.stdout === null ? [] : once(child.stdout, 'data'))))
    await sleep(100 + 130 * round)
    const ends = children.map((child) => once(child, 'exit'))
    for (const child of children) child.kill('SIGKILL')
    await Promise.all(ends)
    await index.upsert([{ id: `own${round}`, title: '', text: 'x' }], [embedText('x')])
  }
  const ids = await storedIds(dir)
  t.equal(new Set(ids).size, ids.length)
  t.ok(ids.length > 1504, `${ids.length} rows`)
})

await t.test('doubles of older software are removed, the last written row stays', async (t) => {
  const { dir, table } = await indexed(t)
  const again = somePassages(3).map((passage) => ({ ...passage, text: `${passage.text} again` }))
  await append(table, again)
  await append(
    table,
    again.map((passage) => ({ ...passage, text: `${passage.text} and again` })),
  )
  t.equal(await table.countRows(), 1506)
  t.equal(await removeDoubles(table, ['p0', 'p1', 'p2', 'p3', 'nothing']), 6)
  t.equal(await removeDoubles(table, ['p0', 'p1', 'p2', 'p3']), 0)
  const index = await openIndex({ dir, model: hashEmbedding })
  t.teardown(() => index.close())
  t.equal(await index.count(), 1500)
  t.match((await index.get('p1'))?.text, /again and again$/)
})
