import t, { type Test } from 'tap'
import type { DocumentReadResult } from '../../../src/inference/contract.ts'
import { testApp } from '../helpers.ts'
import { answered, noBrowser, openBrowser } from './browser.ts'
import { servicesAround } from '../../helpers/services.ts'
import { recordingServices } from '../../helpers/recording-services.ts'

const TEXT = 'Nobody reads this. The treaty was signed in Lisbon by all of them.'
const READ = TEXT.indexOf('The treaty')

/** The page of a service whose reader reads the end of a document, and says a text of it. */
async function openPage(t: Test, said: string) {
  const { services: answering } = recordingServices()
  const { documents } = await servicesAround(t, answering)
  const result: DocumentReadResult = {
    text: said,
    stopped: true,
    logprobs: [-0.1],
    chunks: [],
    contextShares: [],
    inDecoder: [{ start: READ, end: TEXT.length, tokens: 9 }],
    documentTokens: 12,
    promptTokens: 20,
    prompts: [],
    contexts: [],
    timingsMs: { queue: 0, plan: 0, encode: 0, generate: 1 },
  }
  const reader = { ...documents.services.reader, document: () => Promise.resolve(result) }
  const { app } = await testApp(
    t,
    { answering, documents: { ...documents, services: { ...documents.services, reader } } },
    { DOCUMENT_MB: 1 },
  )
  const page = await (await openBrowser(t)).newPage()
  await page.goto(await app.listen({ host: '127.0.0.1', port: 0 }))
  await page.getByText('6 passages').waitFor()
  await page.getByLabel('A document of my own').check()
  const ask = async (question: string): Promise<void> => {
    await page.locator('#question').fill(question)
    await page.locator('#go').click()
  }
  const choose = (name: string, content: string | Buffer) =>
    page.locator('#file').setInputFiles({ name, mimeType: '', buffer: Buffer.from(content) })
  return { page, ask, choose }
}

t.test('a document is asked alone: marks in its own text, what was not read, no link', { skip: noBrowser }, async (t) => {
  const { page, ask, choose } = await openPage(t, 'lisbon')
  await choose('treaty.txt', TEXT)
  await ask('where was it signed')
  await answered(page)
  t.equal(await page.locator('#answer').textContent(), 'Lisbon')
  t.same(await page.locator('mark').allTextContents(), ['Lisbon'])
  t.equal(await page.locator('#passages .title').textContent(), '1. treaty')
  t.match(await page.locator('#unread').textContent(), `${READ} characters were not read`)
  t.ok(await page.getByRole('button', { name: 'Copy link' }).isHidden(), 'nobody else has the document')
  t.notMatch(page.url(), 'q=')
  t.match(await page.locator('#times').textContent(), /^read .* ms$/)
})

t.test('a document that does not say', { skip: noBrowser }, async (t) => {
  const { page, ask } = await openPage(t, '')
  await page.getByLabel('or its text').fill(TEXT)
  await ask('who paid')
  await answered(page)
  t.equal(await page.locator('#answer').textContent(), 'The document does not say')
  t.ok(await page.locator('#sure').isHidden())
})

t.test('without a document, with one of another kind, and with one that is too large, the page says so', { skip: noBrowser }, async (t) => {
  const { page, ask, choose } = await openPage(t, 'lisbon')
  await ask('where was it signed')
  await page.locator('#problem', { hasText: 'Choose a file first, or paste a text.' }).waitFor()
  t.equal(await page.locator('#go').textContent(), 'Ask')
  await choose('picture.png', Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'))
  await ask('where was it signed')
  await page.locator('#problem', { hasText: /PDF|not supported|media type/i }).waitFor()
  await choose('large.txt', 'a '.repeat(600_000))
  await ask('where was it signed')
  await page.locator('#problem', { hasText: 'CEPE_DOCUMENT_MB' }).waitFor()
  t.ok(await page.locator('#result').isHidden())
  await page.getByLabel('All passages').check()
  await ask('what is it')
  await answered(page)
  t.equal(await page.locator('#answer').textContent(), 'yes', 'then the corpus is asked again')
  t.ok(await page.locator('#problem').isHidden())
})
