import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { hashedWords } from '../fixtures/hashed-words.ts'
import { jobFiles } from '../../index/ingest/plan/contract.ts'
import { inspectShardDir, openShardDir, planShardDir, type ShardDir } from '../../index/ingest/shard-dir/shard-dir.ts'
import type { Embed } from '../../index/contract.ts'
import { readPassageFile } from '../../index/read/read.ts'
import { answerWork } from '../../index/ingest/shard-dir/embed-work.ts'
import { embed, somePassages, tempDir } from '../index/helpers.ts'
import { runCli } from '../helpers/cli.ts'
import { storedRows } from '../helpers/stored-rows.ts'
import { streamed, toTsv, withJobs } from './helpers.ts'

/** Path of a shard's vectors. */
const vectorPath = (folder: string, shard: number): string => join(folder, 'vectors', `00000${shard}.arrow`)

const never: Embed = (texts) =>
  texts.every((text) => !text.startsWith('Place ')) ? embed(texts) : Promise.reject(new Error('embedded anew'))

function plan(folder: string, corpus: string, change: Partial<Parameters<typeof planShardDir>[1]> = {}): Promise<ShardDir> {
  return planShardDir(() => readPassageFile(corpus, { source: 'corpus.tsv' }), {
    folder,
    model: hashedWords,
    name: 'corpus.tsv',
    corpus,
    maxRejectedShare: 0,
    shardRows: 100,
    ...change,
  })
}

async function work(shardDir: ShardDir, lines: string, embedTexts: Embed = embed) {
  const answers = []
  for await (const answer of answerWork(streamed(lines), shardDir, embedTexts, new AbortController().signal)) answers.push(answer)
  return answers
}

function shards(from: number, to: number): string {
  return Array.from({ length: to - from + 1 }, (_, i) => `{"shard":${from + i}}\n`).join('')
}

async function planned(t: Test, rows = 450): Promise<{ dir: string; corpus: string; place: ShardDir }> {
  const dir = await tempDir(t)
  const corpus = join(dir, 'corpus.tsv')
  await writeFile(corpus, toTsv(somePassages(rows)))
  return { dir, corpus, place: await plan(join(dir, 'place'), corpus) }
}

await t.test('a file is no place to plan into', async (t) => {
  const dir = await tempDir(t)
  const corpus = join(dir, 'corpus.tsv')
  await writeFile(corpus, toTsv(somePassages(2)))
  for (const folder of [corpus, join(corpus, 'place')])
    await t.rejects(plan(folder, corpus), { code: 'conflict', field: '--out', message: /is a file, or is inside one/ })
})

await t.test('planned, embedded in any order by several, committed: the table is that of a job that does it all', async (t) => {
  const { dir, corpus, place: shardDir } = await planned(t)
  t.same(shardDir.plan.shard_rows, [100, 100, 100, 100, 50])
  await Promise.all([work(shardDir, shards(3, 4)), work(shardDir, shards(0, 3))])
  t.match(await work(shardDir, shards(4, 4)), [{ shard: 4, state: 'present', passages: 50 }], 'nothing is done twice')
  const { index, jobs } = await withJobs(t, dir, { embed: never })
  const { id } = await jobs.addShardDir(shardDir.folder, { replace: true })
  const done = await jobs.wait(id)
  t.match(done, {
    state: 'done',
    version: 1,
    source: { place: true },
    counters: { accepted: 450, embedded: 450, committed: 450, skipped: 0 },
  })
  const other = await withJobs(t, join(dir, 'other'))
  const { id: whole } = await other.jobs.addFile(corpus, { replace: true })
  t.match(await other.jobs.wait(whole), { state: 'done', version: 1 })
  t.same(await storedRows(index.dir), await storedRows(other.index.dir))
  await rm(shardDir.folder, { recursive: true })
  t.equal(await index.count(), 450, 'the table does not need the place')
})

await t.test('a commit adds to a live table what is new or changed, and again changes nothing', async (t) => {
  const { dir, place: shardDir } = await planned(t, 250)
  await work(shardDir, shards(0, 2))
  const { index, jobs } = await withJobs(t, dir, { embed: never })
  const [first] = somePassages(1)
  if (first === undefined) throw new Error('no passage')
  const own = { ...first, id: 'own' }
  const changed = { ...first, text: 'Another text.' }
  await index.upsert([own, changed], [await one(own.text), await one(changed.text)])
  t.match(await jobs.wait((await jobs.addShardDir(shardDir.folder, {})).id), { state: 'done', counters: { embedded: 250, skipped: 0 } })
  t.equal(await index.count(), 251)
  t.match(await index.get('p0'), { text: first.text })
  t.match(await jobs.wait((await jobs.addShardDir(shardDir.folder, {})).id), { state: 'done', counters: { embedded: 0, skipped: 250 } })
})

async function one(text: string): Promise<Float32Array> {
  const [vector] = await embed([text])
  if (vector === undefined) throw new Error('no vector')
  return vector
}

await t.test('what is missing or foreign is named, and nothing is written', async (t) => {
  const { dir, place: shardDir } = await planned(t)
  const { index, jobs } = await withJobs(t, dir)
  await work(shardDir, shards(1, 3))
  const other = await plan(join(dir, 'other'), join(dir, 'corpus.tsv'), { model: { id: 'another', dimension: 32 } })
  await work(other, shards(2, 2))
  await rename(vectorPath(other.folder, 2), vectorPath(shardDir.folder, 2))
  await writeFile(vectorPath(shardDir.folder, 7), 'x')
  await rename(vectorPath(shardDir.folder, 1), vectorPath(shardDir.folder, 3))
  await writeFile(vectorPath(shardDir.folder, 1), 'ARROW1')
  await t.rejects(jobs.addShardDir(shardDir.folder, {}), {
    code: 'index_invalid',
    message:
      /2 of 5 shards have no vectors \(0, 4\); 000001\.arrow is not a complete Arrow file; 000002\.arrow has model another in place of hashed-words.*; 000003\.arrow has shard 1 in place of 3; 000007\.arrow is of a shard that the plan does not have/,
  })
  t.same(await jobs.list(), [])
  await t.rejects(index.info(), { code: 'index_missing' })
  await t.rejects(jobs.addShardDir(other.folder, {}), { code: 'index_invalid', message: /planned for the model another/ })
  await t.rejects(jobs.addShardDir(join(dir, 'nowhere'), {}), { code: 'index_invalid', message: /no complete plan/ })
  await rm(vectorPath(shardDir.folder, 7))
  t.match(await work(shardDir, shards(0, 4)), Array(5).fill({ state: 'done' }), 'foreign files of planned shards are made anew')
  t.same(await inspectShardDir(shardDir, { whole: true }), { missing: [], foreign: [] })
})

await t.test('bad work is named and left out', async (t) => {
  const { place: shardDir } = await planned(t)
  const path = jobFiles(shardDir.folder).shard(1)
  const text = await readFile(path, 'utf8')
  await writeFile(path, text.replace('number 101', 'number 999'))
  await rm(jobFiles(shardDir.folder).shard(2))
  const failing: Embed = (texts) => (texts.some((one) => one.includes('number 301.')) ? Promise.resolve([]) : embed(texts))
  const answers = await work(shardDir, `${shards(0, 4)}\nnonsense\n{"shard":5}\n{"shard":"0"}\n${'x'.repeat(2000)}\n`, failing)
  t.match(answers, [
    { shard: 0, state: 'done' },
    { shard: 1, state: 'failed', line: 2, code: 'index_invalid', message: /Shard 1 .*holds another passage "p101"/ },
    { shard: 2, state: 'failed', code: 'index_invalid', message: /Shard 2 .*missing or damaged/ },
    { shard: 3, state: 'failed', code: 'index_invalid' },
    { shard: 4, state: 'done' },
    { shard: null, state: 'failed', line: 7, code: 'invalid_request' },
    { shard: 5, state: 'failed', line: 8, code: 'not_found', message: /shards are 0 to 4/ },
    { shard: null, state: 'failed', line: 9, code: 'invalid_request' },
    { shard: null, state: 'failed', line: 10, code: 'invalid_request' },
  ])
  t.equal(answers.length, 9)
  t.same((await inspectShardDir(shardDir, { whole: true })).missing, [1, 2, 3])
  t.same(
    (await readdir(join(shardDir.folder, 'vectors'))).filter((file) => !file.endsWith('.arrow')),
    [],
    'no left-overs',
  )
})

await t.test('vectors that were damaged stop the commit by name; made anew, it goes on', async (t) => {
  const { dir, place: shardDir } = await planned(t)
  await work(shardDir, shards(0, 4))
  const path = vectorPath(shardDir.folder, 3)
  const bytes = await readFile(path)
  const at = bytes.length / 2
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
  await writeFile(path, bytes)
  const { index, jobs } = await withJobs(t, dir, { embed: never })
  const stopped = await jobs.wait((await jobs.addShardDir(shardDir.folder, {})).id)
  t.match(stopped, {
    state: 'stopped',
    error: { code: 'index_invalid', message: /shard 3 cannot be used: .*000003\.arrow .*embed the shard again/ },
  })
  await t.rejects(index.info(), { code: 'index_missing' })
  await rm(path)
  await work(shardDir, shards(3, 3))
  await t.rejects(jobs.addShardDir(shardDir.folder, { replace: true }), { code: 'conflict', message: /ordered without --replace/ })
  const { id } = await jobs.addShardDir(shardDir.folder, {})
  t.equal(id, stopped.id, 'the job goes on')
  t.match(await jobs.wait(id), { state: 'done', counters: { committed: 450 } })
  t.equal(await index.count(), 450)
})

await t.test('a passage that was damaged in the plan stops the commit by name, and the table in service stays', async (t) => {
  const { dir, place: shardDir } = await planned(t)
  await work(shardDir, shards(0, 4))
  const { index, jobs } = await withJobs(t, dir, { embed: never })
  t.match(await jobs.wait((await jobs.addShardDir(shardDir.folder, {})).id), { state: 'done' })
  const path = jobFiles(shardDir.folder).shard(1)
  await writeFile(path, (await readFile(path, 'utf8')).replace('number 101', 'number 999'))
  t.match(await jobs.wait((await jobs.addShardDir(shardDir.folder, { replace: true })).id), {
    state: 'stopped',
    error: { code: 'index_invalid', message: /Shard 1 .*holds another passage "p101" than was planned/ },
  })
  t.match(await index.get('p101'), { text: /number 101/ })
})

await t.test('vectors that were damaged are pending work, and made anew', async (t) => {
  const { place: shardDir } = await planned(t)
  await work(shardDir, shards(0, 4))
  const path = vectorPath(shardDir.folder, 3)
  const bytes = await readFile(path)
  const middle = bytes.length / 2
  bytes.writeUInt8(bytes.readUInt8(middle) ^ 1, middle)
  await writeFile(path, bytes)
  const pending = await runCli(['index', 'pending', shardDir.folder])
  t.equal(pending.stdout, '{"shard":3}\n')
  t.match(pending.stderr, /000003\.arrow is damaged: its vectors are not those that were written/)
  t.match(await work(shardDir, pending.stdout), [{ shard: 3, state: 'done' }])
  t.equal((await runCli(['index', 'pending', shardDir.folder])).stdout, '')
})

await t.test('a place is planned once, and nothing else is overwritten', async (t) => {
  const { dir, corpus, place: shardDir } = await planned(t)
  await work(shardDir, shards(0, 0))
  t.same((await plan(shardDir.folder, corpus)).plan, shardDir.plan)
  t.same((await inspectShardDir(shardDir, { whole: true })).missing, [1, 2, 3, 4], 'what is embedded stays')
  await t.rejects(plan(shardDir.folder, 'another'), { code: 'conflict', message: /plan of another corpus/ })
  await t.rejects(plan(shardDir.folder, corpus, { model: { id: 'another', dimension: 32 } }), {
    code: 'conflict',
    message: /for the model hashed/,
  })
  await writeFile(join(dir, 'notes.txt'), '')
  await t.rejects(plan(dir, corpus), { code: 'conflict', message: /which is not part of a plan/ })
  await rm(join(shardDir.folder, 'place.json'))
  await t.rejects(openShardDir(shardDir.folder), { code: 'index_invalid' }, 'cut off before its end it is no plan')
  t.same((await plan(shardDir.folder, corpus)).plan, shardDir.plan, 'and is planned anew')
  t.same((await inspectShardDir(shardDir, { whole: true })).missing, [1, 2, 3, 4], 'with the vectors that are there')
})
