import { copyFile, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t, { type Test } from 'tap'
import { describeFiles } from '../../src/jobs/sources/summary.ts'
import type { JobOptions } from '../../src/jobs/record/schema.ts'
import { makePdf } from '../fixtures/pdf.ts'
import { embed, tempDir } from '../index/helpers.ts'
import { linesOf, withJobs } from './helpers.ts'

const FIXTURES = 'test/fixtures/documents'

async function folderOf(t: Test) {
  const dir = await tempDir(t)
  const docs = path.join(dir, 'docs')
  await mkdir(path.join(docs, 'more'), { recursive: true })
  const texts: string[] = []
  const { index, jobs } = await withJobs(t, dir, { embed: (some) => (texts.push(...some), embed(some)) })
  const file = (name: string, text: string | Buffer) => writeFile(path.join(docs, name), text)
  const add = async (options: JobOptions = {}, only?: readonly string[]) => {
    texts.length = 0
    return jobs.wait((await jobs.addFolder(docs, options, only)).id)
  }
  const copy = (name: string, to = name) => copyFile(path.join(FIXTURES, name), path.join(docs, to))
  /** What was embedded as passages, not as questions about them. */
  const embedded = () => texts.filter((text) => text.includes(' > '))
  return { dir, docs, index, jobs, file, add, copy, embedded }
}

t.test('a folder of each kind: passages with source and metadata, and all that is left out is named', async (t) => {
  const { docs, index, jobs, file, add, copy } = await folderOf(t)
  for (const kind of ['md', 'html', 'docx', 'epub', 'pdf', 'txt']) await copy(`handbook.${kind}`, `more/handbook.${kind}`)
  await copy('encrypted.pdf')
  await file('scan.pdf', makePdf([null]))
  await file('a.mp3', 'ID3')
  await file('more/b.mp3', 'ID3')
  await file('notes.rtf', 'Notes')
  await file('empty.md', '')
  await file('latin.txt', Buffer.from([0xff, 0, 0, 1, 0, 0]))
  await file('.hidden.md', 'hidden')
  await file('table.tsv', 'id\ttext\n1\tx\n')
  await symlink('/etc/passwd', path.join(docs, 'link.md'))
  const job = await add()
  t.match(job, {
    version: 1,
    state: 'done',
    source: { name: 'docs', path: docs, files: {} },
    counters: { read: 15, rejected: 9, accepted: 30, embedded: 30, committed: 30 },
    files: { indexed: 6 },
  })
  t.equal(
    describeFiles(job.files ?? { indexed: 0, left_out: [] }),
    '6 files indexed; 9 left out: 2 .mp3 (not supported), 1 .hidden.md (hidden), 1 .md (no text), 1 encrypted PDF, 1 .txt (not UTF-8), ' +
      '1 .md (symbolic link), 1 .rtf (not supported), 1 .pdf (scanned, no text)',
  )
  const report = await linesOf(await jobs.report(job.id))
  t.match(
    report.map((line) => JSON.parse(line) as unknown),
    [
      { file: '.hidden.md', line: 0, reason: 'hidden' },
      { file: 'a.mp3', reason: 'not_supported', detail: /Office/ },
      { file: 'empty.md', reason: 'without_text' },
      { file: 'encrypted.pdf', reason: 'encrypted' },
      { file: 'latin.txt', reason: 'encoding' },
      { file: 'link.md', reason: 'link' },
      { file: 'more/b.mp3' },
      { file: 'notes.rtf' },
      { file: 'scan.pdf', reason: 'scanned' },
    ],
  )
  const [found] = await index.list({ filter: { source: ['more/handbook.pdf'], metadata: { position: 2 } }, limit: 5 })
  t.match(found, {
    id: /^more\/handbook\.pdf#[\w-]{12}$/,
    title: 'Harbour handbook > Pilots > Ordering a pilot',
    source: 'more/handbook.pdf',
    metadata: { kind: 'pdf', page: 1, heading: 'Pilots > Ordering a pilot', position: 2, modified: /^\d{4}-.*Z$/ },
  })
})

t.test('a second run embeds what changed, and drops what a file no longer has', async (t) => {
  const { docs, index, file, add, copy, embedded } = await folderOf(t)
  await copy('handbook.md')
  await file('note.md', '# Note\n\n## One\n\nThe first lamp burns.\n\n## Old\n\nThe second lamp is out.\n')
  t.match((await add()).counters, { accepted: 7, embedded: 7 })
  const before = (await index.list({ limit: 20 })).map(({ id }) => id)
  t.match((await add()).counters, { accepted: 7, embedded: 0, skipped: 7 })
  await file('note.md', '# Note\n\n## New\n\nThe third lamp is new.\n\n## One\n\nThe first lamp burns.\n')
  const third = await add()
  t.equal(third.error, null)
  t.match(third.counters, { accepted: 7, embedded: 1, skipped: 6 })
  t.same(embedded(), ['Note > New The third lamp is new.'])
  const after = (await index.list({ limit: 20 })).map(({ id }) => id)
  t.equal(after.length, 7)
  t.equal(after.filter((id) => before.includes(id)).length, 6, 'ids stay with what passages say')
  await rename(path.join(docs, 'handbook.md'), path.join(docs, 'more', 'manual.md'))
  t.match((await add()).counters, { embedded: 0, skipped: 7 }, 'a renamed file keeps its vectors')
  t.match(await index.sources(), [
    { source: 'handbook.md', passages: 5 },
    { source: 'more/manual.md', passages: 5 },
    { source: 'note.md', passages: 2 },
  ])
  t.match((await add({ label: 'harbour/' }, ['note.md'])).source, { name: 'note.md', files: { only: ['note.md'] } })
  t.equal(await index.count({ source: ['harbour/note.md'] }), 2)
})

t.test('delete_missing drops what gone files gave, and nothing else', async (t) => {
  const { dir, docs, index, jobs, file, add } = await folderOf(t)
  const lamp = (name: string) => `# Lamp\n\nThe lamp ${name} burns.\n`
  for (const name of ['a', 'b', 'more/c', 'more/d']) await file(`${name}.md`, lamp(name))
  t.match(await add(), { state: 'done' })
  await writeFile(path.join(dir, 'table.tsv'), 'id\ttext\tsource\nrow\tA row.\tb.md\n')
  await jobs.wait((await jobs.addFile(path.join(dir, 'table.tsv'), {})).id)
  await mkdir(path.join(dir, 'other'))
  await writeFile(path.join(dir, 'other', 'e.md'), lamp('e'))
  await jobs.wait((await jobs.addFolder(path.join(dir, 'other'), {})).id)
  await rm(path.join(docs, 'b.md'))
  await file('a.md', Buffer.from([0xff, 0, 0, 1, 0, 0]))
  await rename(path.join(docs, 'more', 'c.md'), path.join(docs, 'more', 'renamed.md'))
  const job = await add({ delete_missing: true })
  t.match(job, { state: 'done', files: { indexed: 2, gone: { files: 2, passages: 2 } }, counters: { embedded: 0 }, result: { rows: 5 } })
  t.equal(
    describeFiles(job.files ?? { indexed: 0, left_out: [] }),
    '2 files indexed; 1 left out: 1 .md (not UTF-8); 2 gone (2 passages deleted)',
  )
  t.equal(await index.count(), 5)
  t.same(
    (await index.sources()).map(({ source }) => source).sort(),
    ['a.md', 'b.md', 'e.md', 'more/d.md', 'more/renamed.md'],
    'a row of a table, a file that cannot be read now and another folder stay',
  )
  t.ok(await index.get('row'))
  await t.rejects(jobs.addFolder(docs, { delete_missing: true }, ['a.md']), { code: 'invalid_request' })
  await t.rejects(jobs.addFile(path.join(dir, 'table.tsv'), { delete_missing: true }), { code: 'invalid_request' })
})

t.test('a file that was emptied keeps no passage, alone or among others', async (t) => {
  const { dir, index, jobs, file, add } = await folderOf(t)
  const lamps = ['a', 'b', 'c', 'd'].map((name) => `${name}.md`)
  for (const name of lamps) await file(name, `# Lamp\n\nThe lamp ${name} burns.\n`)
  await add()
  await writeFile(path.join(dir, 'table.tsv'), 'id\ttext\tsource\nrow\tA row.\ta.md\n')
  await jobs.wait((await jobs.addFile(path.join(dir, 'table.tsv'), {})).id)
  const sources = async () => (await index.sources()).map(({ source }) => source).sort()
  await file('b.md', ' \n')
  await file('c.md', '<!-- nothing -->')
  const job = await add()
  t.match(job, { state: 'done', files: { indexed: 2, gone: { files: 2, passages: 2 } }, result: { rows: 3 } })
  t.equal(
    describeFiles(job.files ?? { indexed: 0, left_out: [] }),
    '2 files indexed; 2 left out: 2 .md (no text); 2 gone (2 passages deleted)',
  )
  t.same(await sources(), ['a.md', 'd.md'])
  await file('d.md', '')
  t.match(await add({ strict: true }, ['d.md']), { state: 'failed', error: { code: 'corpus_invalid' } })
  t.same(await sources(), ['a.md', 'd.md'], 'nothing is changed where a file left out fails the job')
  t.match(await add({}, ['d.md']), {
    state: 'done',
    counters: { read: 1, rejected: 1 },
    files: { indexed: 0, gone: { files: 1 } },
    result: { rows: 2 },
  })
  t.match(await add({}, ['d.md']), { state: 'failed', error: { message: /No file of 1 could be read/ } }, 'nothing was there any more')
  await file('a.md', makePdf([null]))
  t.match(await add({}, ['a.md']), { state: 'done', files: { gone: { files: 1, passages: 1 } } })
  t.ok(await index.get('row'), 'a row of a table stays')
})

t.test('what is not in the passages of a file is in the job and its report', async (t) => {
  const { jobs, file, add } = await folderOf(t)
  const page = (number: number) => ['Harbour rules', '', '', `Rule ${number} says that boats wait.`, '', `page ${number} of 3`]
  await file('rules.pdf', makePdf([page(1), page(2), page(3), null]))
  await file('note.md', 'A lamp.')
  const job = await add()
  const [heads, scanned] = [/^6 lines are left out as running heads: "Harbour rules", "page 1 of 3"/, /^1 of 4 pages have no text/]
  t.match(job, { state: 'done', files: { indexed: 2 }, warnings: [/^rules\.pdf: 6 lines/, /^rules\.pdf: 1 of 4 pages/] })
  const report = await linesOf(await jobs.report(job.id))
  t.match(
    report.map((line) => JSON.parse(line) as unknown),
    [heads, scanned].map((warning) => ({ file: 'rules.pdf', line: 0, warning })),
  )
})

t.test('strict: nothing is indexed where a file is left out; a folder without readable files says why', async (t) => {
  const { index, file, add, docs } = await folderOf(t)
  t.match(await add(), { state: 'failed', error: { code: 'corpus_invalid', message: /There are no files/ } })
  await file('a.mp3', 'ID3')
  t.match(await add(), {
    state: 'failed',
    error: { code: 'corpus_invalid', message: /No file of 1 could be read.*1 \.mp3 \(not supported\)/ },
  })
  await file('note.md', 'A lamp.')
  t.match(await add({ strict: true }), { state: 'failed', error: { code: 'corpus_invalid', message: /1 of 2 files were left out/ } })
  await t.rejects(index.count(), { code: 'index_missing' })
  t.match(await add({ no_metadata: true }), { state: 'done' })
  t.notOk((await index.list({ limit: 1 }))[0]?.metadata)
  await rm(docs, { recursive: true })
  t.match(await add(), { state: 'failed', error: { code: 'not_found' } })
})
