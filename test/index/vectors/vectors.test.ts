import { copyFile, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { f16ToF32 } from '../../../base/binary16.ts'
import type { Embed, EmbeddingModel, Passage } from '../../../index/contract.ts'
import { inspectShardDir, planShardDir, vectorsOf, type ShardDir } from '../../../index/ingest/shard-dir/shard-dir.ts'
import { readShard } from '../../../index/ingest/plan/plan.ts'
import { readVectorFile } from '../../../index/ingest/shard-dir/vector-file.ts'
import { giveVectors } from '../../../index/vectors/give.ts'
import { openVectors, vectorFiles } from '../../../index/vectors/open.ts'
import { tempDir } from '../helpers.ts'

const FIXTURES = 'test/fixtures/vectors'
/** What test/fixtures/vectors/make-vectors.py writes with numpy, exact in float16. */
const vectorOf = (i: number): number[] => [1 + i / 16, -i / 8, 0.5, i]
const model: EmbeddingModel = { id: 'four-numbers', dimension: 4 }
const embed: Embed = (texts) => Promise.resolve(texts.map((text) => Float32Array.from(vectorOf(Number(/number (\d+)/.exec(text)?.[1])))))

async function planned(t: Test, ids = Array.from({ length: 10 }, (_, i) => `p${i}`), shardRows = 3): Promise<ShardDir> {
  const passages: Passage[] = ids.map((id) => ({ id, title: 'Place', text: `It is number ${id.replace(/^p/, '')}.` }))
  const items = async function* () {
    for (const [i, passage] of passages.entries()) yield await Promise.resolve({ line: i + 1, passage })
  }
  return planShardDir(items, {
    folder: join(await tempDir(t), 'place'),
    model,
    name: 'corpus',
    corpus: 'corpus',
    maxRejectedShare: 0,
    shardRows,
  })
}

async function give(t: Test, place: ShardDir, files: readonly string[], change: Partial<Parameters<typeof giveVectors>[1]> = {}) {
  return giveVectors(place, {
    files,
    madeBy: model.id,
    sameModel: false,
    model,
    embed,
    sample: 64,
    minCosine: 0.98,
    work: await tempDir(t),
    signal: new AbortController().signal,
    onProgress: () => undefined,
    ...change,
  })
}

/** The vectors in a place, shard after shard. */
async function stored(place: ShardDir): Promise<number[][]> {
  const found: number[][] = []
  for (const shard of place.plan.shard_rows.keys()) {
    const vectors = vectorsOf(place, shard)
    const numbers = f16ToF32(await readVectorFile(vectors, await readShard(place.folder, shard, place.plan)))
    for (let row = 0; row < vectors.rows; row++) found.push([...numbers.subarray(row * 4, row * 4 + 4)])
  }
  return found
}

const whole = Array.from({ length: 10 }, (_, i) => vectorOf(i))
const nothing = { count: 0, examples: [] }

for (const name of [
  'numpy1-protocol5',
  'numpy2-protocol3',
  'numpy2-protocol4',
  'numpy2-protocol5',
  'numpy2-string-ids',
  'numpy2-big-endian-ids',
  'numpy2-object-ids',
  'halves.npy',
  'floats.npy',
  'doubles.npy',
  'lists.parquet',
])
  await t.test(`${name}, written by numpy or pyarrow, becomes the vectors of the plan`, async (t) => {
    const place = await planned(t)
    t.same(await give(t, place, [join(FIXTURES, name)]), {
      written: 4,
      present: 0,
      missing: { ...nothing, shards: 0 },
      foreign: nothing,
      compared: 10,
      leastCosine: 1,
    })
    t.same(await stored(place), whole)
    t.same(await inspectShardDir(place, { whole: true }), { missing: [], foreign: [] })
  })

await t.test('several files, ids that are numbers, and passages in another order than the vectors', async (t) => {
  const order = ['p7', 'p2', 'p9', 'p0', 'p5', 'p1', 'p8', 'p3', 'p6', 'p4']
  const place = await planned(t, order)
  t.match(await give(t, place, [join(FIXTURES, 'numpy1-protocol4'), join(FIXTURES, 'numpy1-protocol3')]), { written: 4 })
  t.same(
    await stored(place),
    order.map((id) => vectorOf(Number(id.slice(1)))),
  )
  for (const name of ['numpy2-list', 'halves.parquet']) {
    const numbered = await planned(
      t,
      order.map((id) => id.slice(1)),
    )
    t.match(await give(t, numbered, [join(FIXTURES, name)]), { written: 4, missing: { count: 0 } })
    t.same(
      await stored(numbered),
      order.map((id) => vectorOf(Number(id.slice(1)))),
    )
  }
})

await t.test('JSON lines, gzip too; what was laid out meanwhile is gone', async (t) => {
  const place = await planned(t)
  const dir = await tempDir(t)
  const lines = whole.map((vector, i) => `${JSON.stringify({ id: `p${i}`, vector, other: 'x' })}\n`)
  await writeFile(join(dir, 'a.jsonl'), lines.slice(0, 4).join(''))
  await writeFile(join(dir, 'b.jsonl.gz'), gzipSync(lines.slice(4).join('')))
  const work = await tempDir(t)
  t.match(await give(t, place, await vectorFiles([dir]), { work }), { written: 4 })
  t.same(await stored(place), whole)
  t.same(await readdir(work), [])
})

await t.test('missing, foreign and doubled ids are counted, and the first of them named', async (t) => {
  const place = await planned(t, [...Array.from({ length: 8 }, (_, i) => `p${i}`), 'x0', 'x1', 'x2', 'x3', 'x4'])
  t.match(await give(t, place, [join(FIXTURES, 'halves.npy')]), {
    written: 2,
    missing: { count: 5, examples: ['x0', 'x1', 'x2'], shards: 3 },
    foreign: { count: 2, examples: ['p8', 'p9'] },
    compared: 6,
  })
  t.same((await inspectShardDir(place, { whole: true })).missing, [2, 3, 4], 'shards that are not whole are left to others')
  t.match(
    await give(t, place, [join(FIXTURES, 'halves.npy')]),
    { written: 0, present: 2, foreign: { count: 2 } },
    'again: nothing is done twice',
  )
  const other = await planned(t)
  await t.rejects(give(t, other, [join(FIXTURES, 'halves.npy'), join(FIXTURES, 'numpy1-protocol4')]), {
    code: 'corpus_invalid',
    message: /4 ids occur more than once .*"p6" in halves\.npy and numpy1-protocol4, "p7" .*"p8" /,
  })
  t.same((await inspectShardDir(other, { whole: true })).missing, [0, 1, 2, 3], 'nothing was written')
})

await t.test('the model that made them is to be said, and is not taken on trust', async (t) => {
  const place = await planned(t)
  const files = [join(FIXTURES, 'numpy2-protocol4')]
  await t.rejects(give(t, place, files, { madeBy: 'facebook/contriever' }), {
    code: 'index_invalid',
    message: /are of facebook\/contriever .*, the plan is for four-numbers.*--same-model/,
  })
  const declared = { madeBy: 'facebook/contriever', sameModel: true }
  await t.rejects(give(t, place, files, { model: { id: 'five', dimension: 4 }, ...declared }), {
    message: /planned for the model four-numbers/,
  })
  const shifted: Embed = async (texts, signal) => (await embed(texts, signal)).map((vector) => vector.toReversed())
  await t.rejects(give(t, place, files, { embed: shifted, ...declared }), {
    code: 'index_invalid',
    message: /passage "p\d" is not what four-numbers makes of it: their cosine is /,
  })
  const longer: Embed = async (texts, signal) => (await embed(texts, signal)).map((vector) => vector.map((x) => 2 * x))
  await t.rejects(give(t, place, files, { embed: longer, ...declared }), {
    message: /0\.500 times as long \(give vectors of the retriever/,
  })
  t.same((await inspectShardDir(place, { whole: true })).missing, [0, 1, 2, 3], 'nothing was written')
  t.match(await give(t, place, files, { ...declared, sample: 1 }), { written: 4, compared: 4 }, 'every shard is compared in part')
})

await t.test("a shard whose vectors are another model's stops it; what was right stays, and it goes on", async (t) => {
  const place = await planned(t)
  const dir = await tempDir(t)
  const lines = (broken: boolean) =>
    whole.map((vector, i) => JSON.stringify({ id: `p${i}`, vector: broken && i >= 6 ? vector.toReversed() : vector })).join('\n')
  const file = join(dir, 'vectors.jsonl')
  await writeFile(file, lines(true))
  await t.rejects(give(t, place, [file]), { message: /passage "p[678]" is not what/ })
  t.same((await inspectShardDir(place, { whole: true })).missing, [2, 3])
  await writeFile(file, lines(false))
  t.match(await give(t, place, [file]), { written: 2, present: 2 })
  t.same(await stored(place), whole)
})

await t.test('bad vectors and files are refused by name', async (t) => {
  const place = await planned(t)
  const refused = join(FIXTURES, 'refused')
  const cases: readonly (readonly [string, RegExp])[] = [
    ['hostile', /names "posix\.system", which does not belong to a list of ids and an array; none of it was executed/],
    ['protocol2', /protocol 2: write it with protocol=4/],
    ['columns', /<f2 \[10, 4\], column after column/],
    ['big-endian', />f2 \[10, 4\]: arrays of little-endian/],
    ['integers', /<i8 \[10, 4\]: arrays of/],
    ['objects', /O8 \[10, 4\]: arrays of/],
    ['one-dimension', /<f2 \[40\]: arrays of/],
    ['counts', /counts has 9 ids for 10 vectors/],
    ['integer-ids', /integer-ids holds an array of <i8 \[10\]: ids are read as a list, or as .*numpy\.array\(ids, dtype=str\)/],
    ['byte-ids', /byte-ids holds an array of \|S2 \[10\]: ids are read as/],
    ['string-counts', /has 9 ids for 10 vectors/],
    ['no-array', /holds a dictionary in place of ids and an array/],
    ['no-ids', /has no id in row 9: The id is neither a string nor an integer/],
    ['cut-off', /ends in the middle/],
    ['columns.npy', /fortran_order': True.*arrays of/],
    ['integers.npy', /<i8.*arrays of/],
    ['alone.npy', /has no ids: put them into .*alone\.ids\.txt/],
    ['cut-off.npy', /has 200 bytes in place of 208/],
    ['no-vector.parquet', /no columns id and vector \(found: id, embedding\)/],
    ['texts.parquet', /no list of numbers as the vector of "p0" \(row 1\)/],
  ]
  for (const [name, message] of cases) await t.rejects(give(t, place, [join(refused, name)]), { code: 'corpus_invalid', message }, name)
  t.same((await readdir(refused)).sort(), cases.map(([name]) => name).sort(), 'every file was tried')

  const dir = await tempDir(t)
  const file = join(dir, 'vectors.jsonl')
  const line = (vector: unknown, id = 'p0') => `${JSON.stringify({ id, vector })}\n`
  for (const [content, expected] of [
    [line([1, 2, 3]), { code: 'index_invalid', message: /"p0" has 3 numbers, the table's have 4/ }],
    [line([1, 2, 3, 1e6]), { code: 'index_invalid', message: /"p0" holds 1000000 at position 3/ }],
    ['{"id":"p0","vector":[1,2,3,1e999]}', { code: 'index_invalid', message: /holds Infinity/ }],
    [line([1, 2, 3, null]), { code: 'corpus_invalid', message: /no list of numbers as the vector of "p0" \(line 1\)/ }],
    [`${line(vectorOf(0))}{"id":`, { code: 'corpus_invalid', message: /has no JSON object in line 2/ }],
    [line([1, 2, 3, 4], ''), { code: 'corpus_invalid', message: /no id in line 1: The id is empty/ }],
    ['{}', { code: 'corpus_invalid', message: /no id in line 1/ }],
    ['id\tvector\n', { code: 'corpus_invalid', message: /holds no vectors: pickles/ }],
  ] as const) {
    await writeFile(file, content)
    await t.rejects(give(t, place, [file]), expected, content)
  }
  const nan = await readFile(join(FIXTURES, 'halves.npy'))
  nan.writeUInt16LE(0x7e00, nan.length - 2)
  await writeFile(join(dir, 'nan.npy'), nan)
  await copyFile(join(FIXTURES, 'halves.ids.txt'), join(dir, 'nan.ids.txt'))
  await t.rejects(give(t, place, [join(dir, 'nan.npy')]), {
    code: 'index_invalid',
    message: /nan\.npy: the vector of passage "p9" holds numbers that are not finite/,
  })
  await writeFile(join(dir, 'nan.ids.txt'), 'p0\np1\n')
  await t.rejects(give(t, place, [join(dir, 'nan.npy')]), { code: 'corpus_invalid', message: /nan\.npy has fewer ids than its 10 vectors/ })
  await writeFile(join(dir, 'nan.ids.txt'), Array.from({ length: 11 }, (_, i) => `p${i}\n`).join(''))
  await t.rejects(give(t, place, [join(dir, 'nan.npy')]), { message: /nan\.npy has more ids than its 10 vectors/ })
  await rm(file)
  await t.rejects(vectorFiles([file]), { code: 'not_found' })
  await t.rejects(openVectors({ path: join(FIXTURES, 'halves.npy'), dimension: 768, work: dir, number: 0 }), {
    code: 'corpus_invalid',
    message: /halves\.npy has vectors of 4 numbers, the model of the plan makes 768/,
  })
})

await t.test('stopped in the middle it goes on', async (t) => {
  const place = await planned(t)
  const stop = new AbortController()
  const files = [join(FIXTURES, 'floats.npy')]
  const stopping = give(t, place, files, {
    signal: stop.signal,
    onProgress: (phase, done) => {
      if (phase === 'writing' && done === 2) stop.abort(new Error('stopped'))
    },
  })
  await t.rejects(stopping, { message: 'stopped' })
  const left = (await inspectShardDir(place, { whole: true })).missing.length
  t.ok(left > 0 && left < 4, `${left} shards are left`)
  t.match(await give(t, place, files), { written: left, present: 4 - left })
  t.same(await stored(place), whole)
})
