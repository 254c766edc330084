import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import t, { type Test } from 'tap'
import { openIndex } from '../../../index/open.ts'
import type { Passage } from '../../../index/contract.ts'
import { loadConfig } from '../../../src/config.ts'
import { corpusTexts } from '../../../src/http/page/corpus-text.ts'

const NOTHING = { PAGE_TITLE: 'Name', PAGE_ABOUT: '', PAGE_QUESTIONS: '' }

/** An index with the given titles, as passages 1, 2, 3 and so on. */
async function indexOf(t: Test, titles: readonly string[]) {
  const dir = path.join(t.testdirName, `titles-${titles.length}`)
  await mkdir(dir, { recursive: true })
  const index = await openIndex({ dir, model: { id: 'fake', dimension: 2 } })
  t.teardown(() => index.close())
  const passages: Passage[] = titles.map((title, i) => ({ id: String(i + 1), title, text: `text ${i}` }))
  await index.upsert(
    passages,
    passages.map(() => Float32Array.of(1, 0)),
  )
  return index
}

t.test('few titles are all named, of many those that are spread over the corpus', async (t) => {
  const few = await indexOf(t, ['Aida', 'Bern', 'Aida'])
  t.same(await corpusTexts(NOTHING, few)(await few.version()), {
    title: 'Name',
    about: '3 passages about Aida and Bern.',
    questions: ['What is said about Aida?', 'What is said about Bern?'],
  })
  const many = await indexOf(
    t,
    Array.from({ length: 1200 }, (_, i) => `T${i}`),
  )
  t.same(await many.titles(4), ['T150', 'T450', 'T750', 'T1050'])
  const { about, questions } = await corpusTexts(NOTHING, many)(await many.version())
  t.equal(about, '1,200 passages, among them some about T50, T450 and T850.')
  t.equal(questions.length, 3)
})

t.test('what the operator says stands, and no title is read for it', async (t) => {
  const index = { titles: () => Promise.reject(new Error('read')), get: () => Promise.reject(new Error('read')) }
  const settings = { PAGE_TITLE: 'Name', PAGE_ABOUT: 'All of it.', PAGE_QUESTIONS: ' One? ;Two?;; ' }
  const version = { table: 'passages', version: 1, passages: 9 }
  t.same(await corpusTexts(settings, index)(version), { title: 'Name', about: 'All of it.', questions: ['One?', 'Two?'] })
  t.same(await corpusTexts(NOTHING, index)(version), { title: 'Name', about: '9 passages.', questions: [] }, 'a table that cannot be read')
  t.same(await corpusTexts(NOTHING, index)(null), { title: 'Name', about: 'No passages yet.', questions: [] })
})

t.test('titles are read once per version', async (t) => {
  const index = await indexOf(t, ['Aida'])
  let read = 0
  const counted = { titles: (count: number) => (read++, index.titles(count)), get: (id: string) => index.get(id) }
  const describe = corpusTexts(NOTHING, counted)
  for (let i = 0; i < 3; i++) await describe(await index.version())
  t.equal(read, 1)
  await index.upsert([{ id: '2', title: 'Bern', text: 'x' }], [Float32Array.of(1, 0)])
  t.equal((await describe(await index.version())).about, '2 passages about Aida and Bern.')
})

t.test('questions of the demo corpus where its passages are', async (t) => {
  const index = await indexOf(t, ['Aida'])
  const demo = {
    titles: () => Promise.resolve(['Aida']),
    get: (id: string) => Promise.resolve(id === '1114' ? { id, title: 'Australia', text: '' } : undefined),
  }
  const { questions } = await corpusTexts(NOTHING, demo)(await index.version())
  t.same(questions, ['What is the capital of Australia?', 'What is said about Aida?'])
})

t.test('texts that are too long are refused', (t) => {
  t.throws(() => loadConfig({}, { CEPE_PAGE_TITLE: 'a'.repeat(101) }), { code: 'config_invalid', message: /CEPE_PAGE_TITLE/ })
  t.throws(() => loadConfig({}, { CEPE_PAGE_TITLE: ' ' }), { code: 'config_invalid' })
  t.end()
})
