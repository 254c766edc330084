import t from 'tap'
import { copyFile, access, mkdir, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CodedError } from '../../base/errors.ts'
import { jobFiles } from '../../index/ingest/plan/contract.ts'
import { planCorpus } from '../../index/ingest/plan/plan.ts'
import { readPassages } from '../../index/read/read.ts'
import { Command } from 'commander'
import { withReadingOptions } from '../../src/cli/index/reading-options.ts'
import { importPath } from '../../src/jobs/kept/served-file.ts'
import { JobQueue } from '../../src/jobs/run/runner.ts'
import { LiveJob } from '../../src/jobs/run/live-job.ts'
import { JobStore } from '../../src/jobs/record/store.ts'
import type { Jobs } from '../../src/jobs/jobs.ts'
import { embed, embedText, somePassages, tempDir } from '../index/helpers.ts'
import { embedderOf, linesOf, passagesAmong, streamed, toTsv, withJobs } from './helpers.ts'

await t.test('a file goes in: states, counters, rejects, report', async (t) => {
  const dir = await tempDir(t)
  const { index, jobs } = await withJobs(t, dir)
  const file = join(dir, 'corpus.tsv')
  await writeFile(file, `${toTsv(somePassages(40))}bad line\np5\tagain\tT\n`)
  const states = new Set<string>()
  const { id } = await jobs.addFile(file, { max_rejected_share: 0.1 })
  const job = await jobs.wait(id, ({ state }) => states.add(state))
  t.match(job, { state: 'done', error: null, result: { rows: 40, recall: null }, source: { name: 'corpus.tsv', path: file } })
  t.match(job.counters, { read: 42, rejected: 2, accepted: 40, embedded: 40, skipped: 0, committed: 40 })
  t.same(
    job.recent_rejects.map(({ line, reason }) => [line, reason]),
    [
      [42, 'missing_column'],
      [43, 'duplicate_id'],
    ],
  )
  const report = (await linesOf(await jobs.report(id))).map((line) => JSON.parse(line) as { line: number })
  t.same(
    report.map(({ line }) => line),
    [42, 43],
  )
  t.equal((await index.get('p7'))?.source, 'corpus.tsv')
  await t.rejects(access(join(dir, 'index', 'jobs', id, 'shards')), { code: 'ENOENT' }, 'the planned copy is gone')
  const again = await jobs.addFile(file, { max_rejected_share: 0.1 })
  t.match((await jobs.wait(again.id)).counters, { embedded: 0, skipped: 40, committed: 40 })
  t.same(
    (await jobs.list()).map((one) => one.id),
    [id, again.id],
  )
})

await t.test('too many bad lines fail the job before anything is indexed', async (t) => {
  const dir = await tempDir(t)
  const { index, jobs } = await withJobs(t, dir)
  const file = join(dir, 'bad.tsv')
  await writeFile(file, `${toTsv(somePassages(50))}bad\nbad\n`)
  const job = await jobs.wait((await jobs.addFile(file, {})).id)
  t.match(job, {
    state: 'failed',
    error: { code: 'corpus_invalid', message: /2 of 52 lines.*allow more \(max_rejected_share or --max-rejected, without strict\)/ },
  })
  await t.rejects(index.count(), { code: 'index_missing', message: /cepe index add <file> --collection passages/ })
  await t.rejects(jobs.addFile(file, { max_rejected_share: 0.1, strict: true }), {
    code: 'invalid_request',
    message: /give one of the two/,
    field: 'max_rejected_share',
  })
  t.match(await jobs.wait((await jobs.addFile(file, { max_rejected_share: 0.1, strict: false })).id), { state: 'done' })
  const missing = await jobs.wait((await jobs.addFile(join(dir, 'none.tsv'), {})).id)
  t.match(missing, { state: 'failed', error: { code: 'not_found' } })
})

await t.test('uploads: planned as they come, refused whole or cut off without a trace', async (t) => {
  const dir = await tempDir(t)
  const { index, jobs } = await withJobs(t, dir, { maxUploadBytes: 100_000 })
  const { id } = await jobs.addUpload({ bytes: streamed(toTsv(somePassages(100))), name: 'up.tsv', options: {} })
  t.match(await jobs.wait(id), { state: 'done', counters: { committed: 100 } })
  t.equal((await index.get('p1'))?.source, 'up.tsv')
  const cut = async function* () {
    yield* streamed(toTsv(somePassages(10, 500)))
    throw new Error('socket hang up')
  }
  await t.rejects(jobs.addUpload({ bytes: cut(), options: {} }), { message: 'socket hang up' })
  await t.rejects(jobs.addUpload({ bytes: streamed('x'.repeat(200_000)), options: {} }), { code: 'payload_too_large' })
  await t.rejects(jobs.addUpload({ bytes: streamed(''), options: {} }), { code: 'corpus_invalid' })
  t.same(await readdir(join(dir, 'index', 'jobs')), [id])
  await t.rejects(jobs.addUpload({ bytes: streamed(`${toTsv(somePassages(3))}bad\n`), options: {} }), {
    code: 'corpus_invalid',
    message: /report/,
  })
  const failed = (await jobs.list()).at(-1)
  t.match(failed, { state: 'failed', recent_rejects: [{ line: 5, reason: 'missing_column' }] })
  t.equal(await index.count(), 100)
})

await t.test('an upload that cannot be ordered leaves nothing behind, and keeps nobody waiting', async (t) => {
  const dir = await tempDir(t)
  const { index, jobs } = await withJobs(t, dir)
  await index.upsert(somePassages(1), [embedText('x')])
  // Where changes beside the job would be noted.
  const changes = join(dir, 'index', 'passages.changes')
  await writeFile(changes, '')
  const upload = () => jobs.addUpload({ bytes: streamed(toTsv(somePassages(10))), name: 'up.tsv', options: {} })
  await t.rejects(upload())
  t.same(await readdir(join(dir, 'index', 'jobs')), [])
  await rm(changes)
  t.match(await jobs.wait((await upload()).id), { state: 'done' })
  t.equal(await index.count(), 10)
})

await t.test('jobs run one after the other; a running, a queued and an ended one can or cannot be cancelled', async (t) => {
  const dir = await tempDir(t)
  let release: () => void = () => undefined
  const gate = new Promise<void>((resolve) => (release = resolve))
  let calls = 0
  const { index, jobs } = await withJobs(t, dir, {
    embed: async (texts, signal) => {
      calls++
      await Promise.race([gate, new Promise((resolve) => signal?.addEventListener('abort', resolve))])
      signal?.throwIfAborted()
      return embed(texts)
    },
  })
  const first = await jobs.addUpload({ bytes: streamed(toTsv(somePassages(20))), options: { replace: true } })
  const second = await jobs.addUpload({ bytes: streamed(toTsv(somePassages(20, 100))), options: {} })
  const third = await jobs.addUpload({ bytes: streamed(toTsv(somePassages(20, 200))), options: {} })
  while (calls === 0) await sleep(10)
  t.equal((await jobs.get(first.id)).state, 'indexing')
  t.equal((await jobs.get(second.id)).state, 'queued')
  t.equal((await jobs.cancel(second.id)).state, 'cancelled')
  t.equal((await jobs.cancel(first.id)).state, 'cancelled')
  await t.rejects(jobs.cancel(first.id), { code: 'conflict' })
  await t.rejects(jobs.resume(first.id), { code: 'conflict' })
  release()
  t.equal((await jobs.wait(third.id)).state, 'done')
  t.equal(await index.count(), 20)
  t.ok(await index.get('p200'), 'only the third is in it')
  t.notOk(
    (await readdir(join(dir, 'index'))).some((name) => name.includes(first.id)),
    'the cancelled table is gone',
  )
  await t.rejects(jobs.get('20260101T000000000-abcd'), { code: 'not_found' })
  await t.rejects(jobs.get('../etc'), { code: 'not_found' })
})

await t.test('a document that became shorter loses its old tail, others keep theirs', async (t) => {
  const dir = await tempDir(t)
  const { index, jobs } = await withJobs(t, dir)
  const sent = async (texts: Record<string, string>) => {
    const lines = Object.entries(texts).map(([id, text]) => JSON.stringify({ id, text }))
    const { id } = await jobs.addUpload({ bytes: streamed(lines.join('\n')), options: { split_words: 20 } })
    t.match(await jobs.wait(id), { state: 'done' })
  }
  await sent({ a: 'one two three four five. '.repeat(40), b: 'six seven eight nine ten. '.repeat(12), ab: 'x '.repeat(50) })
  t.equal(await index.count(), 13)
  await sent({ a: 'one two three four five. '.repeat(8), b: 'six seven eight nine ten. '.repeat(12) })
  t.equal(await index.count(), 7)
  t.ok(await index.get('a#2'))
  t.notOk(await index.get('a#3'))
  t.ok(await index.get('b#3'))
  t.ok(await index.get('ab#2'))
})

await t.test('an alias that is lost, or names nothing, costs no table: it stays until the alias is put right', async (t) => {
  const dir = await tempDir(t)
  const place = join(dir, 'index')
  const first = await withJobs(t, dir)
  await first.jobs.wait((await first.jobs.addUpload({ bytes: streamed(toTsv(somePassages(20))), options: {} })).id)
  await first.jobs.close()
  const alias = join(place, 'passages.alias.json')
  const text = await readFile(alias, 'utf8')
  const damages: Readonly<Record<string, () => Promise<unknown>>> = {
    removed: () => rm(alias),
    'another table': () => writeFile(alias, text.replace('passages', 'pasrages')),
    'another job': () => writeFile(alias, text.replace(/\d(?="})/, 'x').replace(/[a-f](?="})/, 'x')),
    'no JSON': () => writeFile(alias, text.slice(0, 9)),
    'a link': () => rm(alias).then(() => symlink(join(dir, 'unmounted'), alias)),
  }
  const then = new Date(Date.now() - 7_200_000)
  for (const [how, damage] of Object.entries(damages)) {
    await damage()
    const tables = (await readdir(place)).filter((name) => name.endsWith('.lance'))
    for (const name of tables) await utimes(join(place, name), then, then)
    const warnings: string[] = []
    const { index, jobs } = await withJobs(t, dir, { log: (_level, message) => warnings.push(message) })
    await jobs.start()
    if (how === 'removed') t.same(await jobs.replacedTables(), [], 'it replaces nothing')
    await t.rejects(index.count(), { code: /index_invalid|store_unavailable/, message: /alias/ }, how)
    await t.rejects(
      jobs.addUpload({ bytes: streamed(toTsv(somePassages(1))), options: {} }).then(({ id }) => failed(jobs, id)),
      {
        message: /alias/,
      },
    )
    await jobs.close()
    t.ok((await readdir(place)).includes(tables[0] ?? ''), how)
    await rm(alias, { force: true })
    await writeFile(alias, text)
    t.equal(await index.count(), 20, how)
    for (const { id, state } of await jobs.list()) if (state !== 'done') await rm(join(place, 'jobs', id), { recursive: true })
  }
})

/** The error of a job that does not end well. */
async function failed(jobs: Jobs, id: string): Promise<void> {
  const { error } = await jobs.wait(id)
  if (error !== null) throw new Error(error.message)
}

await t.test('records that cannot be read are listed by their ids, and hold up neither a start nor other jobs', async (t) => {
  const dir = await tempDir(t)
  const first = await withJobs(t, dir)
  const ids: string[] = []
  const damages: readonly ((record: string) => Promise<unknown>)[] = [
    (record) => writeFile(record, ''),
    (record) => writeFile(record, '{}'),
    // One changed bit of a value: 3 passages were accepted.
    async (record) => writeFile(record, (await readFile(record, 'utf8')).replace('"accepted": 3', '"accepted": 2')),
    (record) => rm(record).then(() => mkdir(record)),
    (record) => rm(record).then(() => symlink(join(dir, 'unmounted'), record)),
  ]
  for (const [i] of damages.entries())
    ids.push((await first.jobs.wait((await first.jobs.addUpload({ bytes: streamed(toTsv(somePassages(3, i * 3))), options: {} })).id)).id)
  await first.jobs.close()
  for (const [i, damage] of damages.entries()) await damage(join(dir, 'index', 'jobs', ids[i] ?? '', 'job.json'))
  const { index, jobs } = await withJobs(t, dir)
  await jobs.start()
  t.same([await jobs.list(), await jobs.unreadable()], [[], ids])
  for (const id of ids) await t.rejects(jobs.get(id), { code: 'conflict', message: new RegExp(`${id}.job\\.json .*cannot be read`) })
  const next = await jobs.addUpload({ bytes: streamed(toTsv(somePassages(3, 50))), options: {} })
  t.match(await jobs.wait(next.id), { state: 'done' })
  t.equal(await index.count(), 18)
})

await t.test('a report that is not that of its job is not shown', async (t) => {
  const dir = await tempDir(t)
  const { jobs } = await withJobs(t, dir)
  const add = async (lines: string, share = 0.5) => {
    await writeFile(join(dir, 'corpus.tsv'), `${toTsv(somePassages(3))}${lines}`)
    const { id, state } = await jobs.wait((await jobs.addFile(join(dir, 'corpus.tsv'), { max_rejected_share: share })).id)
    return { id, state, report: jobFiles(join(dir, 'index', 'jobs', id)).rejects }
  }
  const [none, one, other, failed] = [await add(''), await add('bad\n'), await add('\nbad\np1\tagain\tT\n'), await add('bad\n', 0.1)]
  t.same([none.state, one.state, other.state, failed.state], ['done', 'done', 'done', 'failed'])
  const kept = await readFile(other.report)
  t.match(await linesOf(await jobs.report(failed.id)), [/missing_column/])
  const refused = async (job: typeof one) =>
    t.rejects(jobs.report(job.id), {
      code: 'store_unavailable',
      message: new RegExp(`${job.report} has other lines than the job ${job.id} rejected: it is lost, incomplete or that of another job`),
    })
  for (const job of [none, one, failed]) {
    await copyFile(other.report, job.report)
    await refused(job)
  }
  await writeFile(other.report, kept.subarray(0, -10))
  await refused(other)
  await rm(other.report)
  await refused(other)
  await writeFile(other.report, kept)
  t.same(await linesOf(await jobs.report(other.id)), kept.toString().trim().split('\n'))
  t.same(await linesOf(await jobs.report((await add('')).id)), [])
})

await t.test('a report has the rejected lines of the last reading alone', async (t) => {
  const folder = t.testdir({})
  const plan = (text: string) => planCorpus(readPassages(streamed(text)), { folder, maxRejectedShare: 1 })
  await plan(`${toTsv(somePassages(3))}bad\n`)
  t.match(await readFile(jobFiles(folder).rejects, 'utf8'), /missing_column/)
  await plan(toTsv(somePassages(3)))
  await t.rejects(readFile(jobFiles(folder).rejects), { code: 'ENOENT' })
})

await t.test('without its list of files a job deletes nothing', async (t) => {
  const dir = await tempDir(t)
  const docs = join(dir, 'docs')
  await mkdir(docs)
  let spoil: (list: string) => Promise<void> = () => Promise.resolve()
  const listOf = (id: string) => jobFiles(join(dir, 'index', 'jobs', id)).listed
  const { index, jobs } = await withJobs(t, dir, {
    embed: async (some) => {
      await spoil(listOf((await jobs.list()).at(-1)?.id ?? ''))
      return embed(some)
    },
  })
  for (const name of ['a.md', 'b.md', 'c.md']) await writeFile(join(docs, name), `The lamp of ${name} is lit at six.\n`)
  const add = async (text: string) => {
    await writeFile(join(docs, 'a.md'), text)
    return jobs.wait((await jobs.addFolder(docs, { delete_missing: true })).id)
  }
  const first = await add('It is lit at seven.\n')
  t.match([first.state, await index.count()], ['done', 3])
  const damages = [
    [(list: string) => writeFile(list, '{"sources": ['), /is damaged/],
    // One changed bit of a name: b.md would be missing.
    [async (list: string) => writeFile(list, (await readFile(list, 'utf8')).replace('b.md', 'b.me')), /found, is damaged/],
    [(list: string) => copyFile(listOf(first.id), list), /that of another job/],
    [(list: string) => rm(list), /is missing/],
  ] as const
  for (const [damage, message] of damages) {
    spoil = damage
    const { id, ...job } = await add(`It is lit at ${String(message)}.\n`)
    t.match(job, { state: 'stopped', error: { code: 'store_unavailable', message } })
    t.equal(await index.count(), 3, 'nothing was deleted')
    await rm(listOf(id), { force: true })
  }
  spoil = () => Promise.resolve()
  await rm(join(docs, 'b.md'))
  await writeFile(listOf(first.id), '[]')
  t.match(await add('It is lit at nine.\n'), { state: 'stopped', error: { message: new RegExp(`${first.id}.* is damaged`) } })
  await rm(listOf(first.id))
  t.match(await add('It is lit at ten.\n'), { state: 'done', files: { gone: { files: 0 } } })
})

await t.test('a stopped service goes on at the next start', async (t) => {
  const dir = await tempDir(t)
  let texts = 0
  const slow = await withJobs(t, dir, {
    embed: async (some, signal) => {
      texts += passagesAmong(some)
      if (texts > 256) await new Promise((resolve) => signal?.addEventListener('abort', resolve))
      signal?.throwIfAborted()
      return embed(some)
    },
  })
  const { id } = await slow.jobs.addUpload({ bytes: streamed(toTsv(somePassages(600))), options: {} })
  while (texts <= 256) await sleep(10)
  await slow.jobs.close()
  const next = await withJobs(t, dir)
  t.equal((await next.jobs.get(id)).state, 'indexing')
  await next.jobs.start()
  t.match(await next.jobs.wait(id), { state: 'done', counters: { committed: 600 } })
  t.equal(await next.index.count(), 600)
})

await t.test('a running service takes up what another process left, in the order in which it was ordered', async (t) => {
  const dir = await tempDir(t)
  const running = await withJobs(t, dir)
  await running.jobs.start()
  let texts = 0
  const dying = await withJobs(t, dir, {
    embed: async (some, signal) => {
      if ((texts += some.length) > 128) await new Promise((resolve) => signal?.addEventListener('abort', resolve))
      signal?.throwIfAborted()
      return embed(some)
    },
  })
  const first = await dying.jobs.addUpload({ bytes: streamed(toTsv(somePassages(300))), options: { replace: true } })
  const changed = somePassages(300, 100).map((p) => ({ ...p, text: `${p.text} changed` }))
  const second = await running.jobs.addUpload({ bytes: streamed(toTsv(changed)), options: {} })
  while (texts <= 128) await sleep(10)
  t.equal((await running.jobs.get(second.id)).state, 'queued', 'it waits for the one before it')
  await dying.jobs.close()
  t.match(await running.jobs.wait(second.id), { state: 'done', result: { rows: 400 } })
  t.match(await running.jobs.get(first.id), { state: 'done', result: { rows: 300 } })
  t.match((await running.index.get('p150'))?.text, /changed$/)
})

await t.test('jobs of another model are left alone and block nobody', async (t) => {
  const dir = await tempDir(t)
  const { jobs } = await withJobs(t, dir)
  const other = join(dir, 'index', 'jobs', '20200101T000000000-abcd')
  const { id } = await jobs.addUpload({ bytes: streamed(toTsv(somePassages(10))), options: {} })
  const record = { ...(await jobs.wait(id)), id: '20200101T000000000-abcd', model: 'another', state: 'indexing' }
  await mkdir(other)
  await writeFile(join(other, 'job.json'), JSON.stringify(record))
  await jobs.start()
  const next = await jobs.addUpload({ bytes: streamed(toTsv(somePassages(10, 10))), options: {} })
  t.match(await jobs.wait(next.id), { state: 'done' })
  t.match(await jobs.get(record.id), { state: 'indexing' })
})

await t.test('records that this software cannot read are kept, with all that belongs to them', async (t) => {
  const dir = await tempDir(t)
  const first = await withJobs(t, dir)
  const { id } = await first.jobs.addUpload({ bytes: streamed(toTsv(somePassages(10))), options: {} })
  const done = await first.jobs.wait(id)
  // A job that is done may still remove old tables.
  await first.jobs.close()
  const { index, jobs } = await withJobs(t, dir)
  const recordOf = (id: string, part: object) => JSON.stringify({ ...done, id, ...part })
  const web = { urls: ['https://a.example'], hostX: ['a.example'] }
  const records = new Map([
    ['20200101T000000000-aaaa', '{"torn'],
    ['20200101T000000000-bbbb', recordOf('20200101T000000000-bbbb', { version: 99 })],
    ['20200101T000000000-cccc', recordOf('20200101T000000000-cccd', {})],
    ['20200101T000000000-dddd', recordOf('20200101T000000000-dddd', { source: { ...done.source, files: { web } } })],
  ])
  const kept = [...records.keys()]
  for (const [name, record] of records) {
    const folder = join(dir, 'index', 'jobs', name)
    await mkdir(join(folder, 'shards'), { recursive: true })
    await writeFile(join(folder, 'job.json'), record)
    await mkdir(join(index.dir, `passages.${name}.lance`))
    const old = new Date(Date.now() - 7_200_000)
    for (const path of [folder, join(index.dir, `passages.${name}.lance`), join(index.dir, 'passages.alias.json')])
      await utimes(path, old, old)
  }
  await jobs.start()
  await jobs.wait((await jobs.addUpload({ bytes: streamed(toTsv(somePassages(10, 5))), options: {} })).id)
  for (const name of kept) {
    await t.rejects(jobs.get(name), { code: 'conflict', message: /newer software or is damaged.*update/ })
    await access(join(dir, 'index', 'jobs', name, 'shards'))
    await access(join(index.dir, `passages.${name}.lance`))
  }
})

await t.test('a lasting obstacle stops a job, and resume goes on; a passing one is waited out', async (t) => {
  const dir = await tempDir(t)
  let broken: Error | undefined = Object.assign(new Error('write failed'), { code: 'ENOSPC' })
  const { jobs } = await withJobs(t, dir, { embed: (texts) => (broken ? Promise.reject(broken) : embed(texts)) })
  const { id } = await jobs.addUpload({ bytes: streamed(toTsv(somePassages(30))), options: {} })
  t.match(await jobs.wait(id), { state: 'stopped', error: { code: 'disk_full', message: /free space/ } })
  broken = new CodedError('overloaded', 'busy')
  setTimeout(() => (broken = undefined), 200)
  t.equal((await jobs.resume(id)).state, 'queued')
  t.match(await jobs.wait(id), { state: 'done', error: null })
})

await t.test('vectors that do not pass stop a job; its work is kept', async (t) => {
  const dir = await tempDir(t)
  let calls = 0
  let texts = 0
  let broken = true
  const { index, jobs } = await withJobs(t, dir, {
    shardRows: 10,
    embed: async (some) => {
      texts += passagesAmong(some)
      const vectors = await embed(some)
      if (++calls === 3 && broken) vectors[0]?.fill(NaN)
      return vectors
    },
  })
  const { id } = await jobs.addUpload({ bytes: streamed(toTsv(somePassages(40))), options: { replace: true } })
  t.match(await jobs.wait(id), { state: 'stopped', error: { code: 'index_invalid', message: /NaN/ }, counters: { committed: 20 } })
  await t.rejects(index.count(), { code: 'index_missing' }, 'nothing half-made is in service')
  broken = false
  await jobs.resume(id)
  t.match(await jobs.wait(id), { state: 'done', counters: { committed: 40 } })
  t.equal(texts, 50, 'two shards were not embedded again')
})

await t.test('a table whose vector index has too little recall is served exactly, with a warning, until the limit is lower', async (t) => {
  const dir = await tempDir(t)
  const strict = await withJobs(t, dir, { policy: { exactBelow: 500, minRecall: 1.01, sample: 8 } })
  const { id } = await strict.jobs.addUpload({ bytes: streamed(toTsv(somePassages(1000)), 10_000), options: { replace: true } })
  t.match(await strict.jobs.wait(id), {
    state: 'done',
    error: null,
    result: { rows: 1000, recall: null },
    warnings: [/reaches recall@10 [01]\.\d{3} of the required 1\.01.*compare every vector.*CEPE_MIN_RECALL/],
  })
  t.match(await strict.index.info(), { kind: 'exact', rows: 1000 })
  const [hit] = await strict.index.view().then((view) => view.search(embedText('The amber'), { k: 1 }))
  t.ok(hit)
  await strict.jobs.close()
  const lenient = await withJobs(t, dir, { policy: { exactBelow: 500, minRecall: 0.5, sample: 8 } })
  const next = await lenient.jobs.addUpload({ bytes: streamed(toTsv(somePassages(1, 1000))), options: {} })
  t.match(await lenient.jobs.wait(next.id), { state: 'done', warnings: [] })
  t.match(await lenient.index.info(), { kind: 'ivf_rq', rows: 1001 })
})

await t.test('two processes share the queue: a job is done once', async (t) => {
  const dir = await tempDir(t)
  let texts = 0
  const counted = { embed: (some: readonly string[]) => ((texts += passagesAmong(some)), embed(some)) }
  const one = await withJobs(t, dir, counted)
  const two = await withJobs(t, dir, counted)
  const { id } = await one.jobs.addUpload({ bytes: streamed(toTsv(somePassages(40))), options: {} })
  await two.jobs.start()
  const other = await two.jobs.addUpload({ bytes: streamed(toTsv(somePassages(40, 40))), options: {} })
  const ended = await Promise.all([one.jobs.wait(id), two.jobs.wait(id), one.jobs.wait(other.id)])
  t.same(
    ended.map((job) => job.state),
    ['done', 'done', 'done'],
  )
  t.equal(texts, 80)
  t.equal(await two.index.count(), 80)
})

await t.test('sources stay inside the import folder', async (t) => {
  const dir = await tempDir(t)
  const root = join(dir, 'import')
  await mkdir(join(root, 'sub'), { recursive: true })
  await writeFile(join(root, 'sub', 'ok.tsv'), 'x')
  await writeFile(join(dir, 'secret'), 'x')
  await symlink(join(dir, 'secret'), join(root, 'link.tsv'))
  await symlink(dir, join(root, 'up'))
  t.match(await importPath(root, 'sub/ok.tsv'), { path: /import\/sub\/ok\.tsv$/, within: 'sub/ok.tsv', isFolder: false })
  for (const name of ['../secret', 'sub/../../secret', '/etc/passwd', 'link.tsv', 'up/secret', 'a\0b']) {
    await t.rejects(importPath(root, name), { code: 'forbidden' }, JSON.stringify(name))
  }
  await t.rejects(importPath(root, 'none.tsv'), { code: 'not_found' })
  t.match(await importPath(root, 'sub/'), { path: /import\/sub$/, within: 'sub', isFolder: true })
  t.match(await importPath(root, '.'), { within: '', isFolder: true })
  await t.rejects(importPath(undefined, 'x'), { code: 'forbidden' })
})

await t.test('options that no record may have are refused, not written', async (t) => {
  const dir = await tempDir(t)
  const { jobs } = await withJobs(t, dir)
  for (const options of [{ split_words: 5 }, { split_words: 5000 }, { label: '' }, { max_rejected_share: 2 }])
    await t.rejects(jobs.addFile(join(dir, 'corpus.tsv'), options), { code: 'options_invalid', field: Object.keys(options)[0] })
  t.same(await readdir(join(dir, 'index', 'jobs')).catch(() => []), [])
  const command = withReadingOptions(new Command('add'))
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
  for (const words of ['19', '1001', '0'])
    t.throws(() => command.parse(['--split', words], { from: 'user' }), { message: /whole number from 20 to 1000/ })
})

await t.test('a job whose turn comes as the service ends is left for the next start', async (t) => {
  const dir = await tempDir(t)
  const { index, jobs } = await withJobs(t, dir)
  await writeFile(join(dir, 'corpus.tsv'), toTsv(somePassages(3)))
  await jobs.close()
  const job = await jobs.addFile(join(dir, 'corpus.tsv'), {})
  await jobs.close()
  const jobsDir = join(dir, 'index', 'jobs')
  const store = new JobStore(jobsDir)
  let ended: Promise<void> | undefined
  class EndingStore extends JobStore {
    override load(id: string) {
      ended ??= queue.close()
      return super.load(id)
    }
  }
  const queue = new JobQueue({ index, jobsDir, embedder: embedderOf() }, new EndingStore(jobsDir))
  t.equal(await queue.enqueue(job.id), true)
  while (ended === undefined) await sleep(5)
  await ended
  t.match(await store.load(job.id), { state: 'queued', error: null })
  await t.rejects(index.count(), { code: 'index_missing' })
})

await t.test('a lease that cannot be given back ends neither the queue nor the process', async (t) => {
  const dir = await tempDir(t)
  const { index } = await withJobs(t, dir)
  const said: string[] = []
  class AwayStore extends JobStore {
    override async lease(id: string) {
      const lease = await super.lease(id)
      return lease && { lost: lease.lost, release: () => lease.release().then(() => Promise.reject(new Error('the folder is away'))) }
    }
  }
  const store = new AwayStore(join(dir, 'index', 'jobs'))
  const queue = new JobQueue(
    { index, jobsDir: join(dir, 'index', 'jobs'), embedder: embedderOf(), log: (_level, message) => said.push(message) },
    store,
  )
  const { jobs } = await withJobs(t, dir)
  await jobs.close()
  for (const words of ['one', 'two']) {
    await writeFile(join(dir, 'corpus.tsv'), `id\ttext\ttitle\n${words}\tSome ${words} words.\tT\n`)
    const { id } = await jobs.addFile(join(dir, 'corpus.tsv'), {})
    await jobs.close()
    t.equal(await queue.enqueue(id), true)
    t.match(await jobs.wait(id), { state: 'done' }, words)
  }
  await queue.close()
  t.match(said, [/lease was not released: the folder is away/])
})

await t.test('rate over the last half minute, and the time that is left by it', async (t) => {
  const { jobs } = await withJobs(t, await tempDir(t))
  await jobs.close()
  const job = await jobs.addFile('corpus.tsv', {})
  const live = new LiveJob(job, { save: () => Promise.resolve() })
  const reported = (embedded: number, at: number) => {
    live.report({ state: 'indexing', counters: { ...job.counters, accepted: 1000, embedded } }, at)
    return [live.job.rate, live.job.eta_s]
  }
  t.same(reported(0, 0), [null, null])
  t.same(reported(100, 1000), [100, 9])
  reported(100, 40_000)
  t.same(reported(300, 41_000), [200, 4], 'samples of more than half a minute ago do not count')
  live.report({ stage: { name: 'reading back', share: 0 } }, 50_000)
  live.report({ stage: { name: 'reading back', share: 0.25 } }, 60_000)
  t.match(live.job, { rate: null, eta_s: 30, stage: { name: 'reading back', share: 0.25 } })
})
