import t from 'tap'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Job } from '../../src/jobs/record/schema.ts'
import { embed, embedText, somePassages, tempDir } from '../index/helpers.ts'
import { streamed, toTsv, withJobs } from './helpers.ts'
import { SKIPS } from '../helpers/skips.ts'
import { fill, smallDisk, unfill } from '../helpers/small-disk.ts'

function onDisk(dir: string, id: string): Job {
  return JSON.parse(readFileSync(join(dir, 'index', 'jobs', id, 'job.json'), 'utf8')) as Job
}

const skip = (await smallDisk(t, 1)) === undefined ? SKIPS.mount : false

await t.test('while planning: uploads are answered, files say what is missing, nothing stays behind', { skip }, async (t) => {
  const dir = (await smallDisk(t, 16)) ?? ''
  const elsewhere = await tempDir(t)
  const { jobs, index } = await withJobs(t, dir)
  const corpus = toTsv(somePassages(20_000))
  fill(dir, 700_000)
  await t.rejects(jobs.addUpload({ bytes: streamed(corpus, 65_536), options: {} }), { code: 'disk_full' })
  t.same(readdirSync(join(dir, 'index', 'jobs')), [])
  writeFileSync(join(elsewhere, 'corpus.tsv'), corpus)
  const { id } = await jobs.addFile(join(elsewhere, 'corpus.tsv'), {})
  t.match(await jobs.wait(id), { state: 'stopped', error: { code: 'disk_full', message: /needs about 2\.\d MB.*are free/ } })
  t.match(onDisk(dir, id), { state: 'stopped' })
  unfill(dir)
  await jobs.resume(id)
  t.match(await jobs.wait(id), { state: 'done', error: null })
  t.equal(await index.count(), 20_000)
})

await t.test(
  'while embedding, to the last byte: the state on the disk is true, passages can be written again, the job resumes',
  { skip },
  async (t) => {
    const dir = (await smallDisk(t, 24)) ?? ''
    let full = false
    const { jobs, index } = await withJobs(t, dir, {
      shardRows: 500,
      embed: async (texts) => {
        if (full) fill(dir)
        return embed(texts)
      },
    })
    await index.upsert([{ id: 'own', title: '', text: 'kept' }], [embedText('kept')])
    for (const replace of [true, false]) {
      full = true
      const bytes = streamed(toTsv(somePassages(3000, replace ? 0 : 3000)), 65_536)
      const { id } = await jobs.addUpload({ bytes, options: { replace } })
      const stopped = await jobs.wait(id)
      t.match(stopped, { state: 'stopped', error: { code: 'disk_full' } })
      full = false
      t.match(onDisk(dir, id), { state: 'stopped', error: { code: 'disk_full' } })
      unfill(dir)
      await index.upsert([{ id: 'own', title: '', text: 'kept still' }], [embedText('kept still')])
      await jobs.resume(id)
      t.match(await jobs.wait(id), { state: 'done', counters: { committed: 3000 } })
    }
    await index.refresh()
    t.equal(await index.count(), 6001)
  },
)

await t.test('cancelling on a full disk frees what the job built', { skip }, async (t) => {
  const dir = (await smallDisk(t, 24)) ?? ''
  let calls = 0
  const { jobs, index } = await withJobs(t, dir, {
    shardRows: 500,
    embed: async (texts) => {
      if (++calls === 8) fill(dir)
      return embed(texts)
    },
  })
  const { id } = await jobs.addUpload({ bytes: streamed(toTsv(somePassages(3000)), 65_536), options: { replace: true } })
  t.match(await jobs.wait(id), { state: 'stopped', error: { code: 'disk_full' } })
  t.ok(readdirSync(join(dir, 'index')).some((name) => name.includes(id)))
  t.match(await jobs.cancel(id), { state: 'cancelled' })
  t.match(onDisk(dir, id), { state: 'cancelled' })
  t.notOk(readdirSync(join(dir, 'index')).some((name) => name.includes(id)))
  t.notOk(existsSync(join(dir, 'index', 'jobs', id, 'shards')))
  await index.upsert([{ id: 'own', title: '', text: 'fits' }], [embedText('fits')])
  t.equal(await index.count(), 1)
})
