import t, { type Test } from 'tap'
import type { Passage } from '../../../index/contract.ts'
import { testApp } from '../helpers.ts'
import { answered, noBrowser, openBrowser, openPassages, unfoldAll } from './browser.ts'
import { saidServices } from './said-services.ts'
import type { DocumentReadResult } from '../../../src/inference/contract.ts'
import { servicesAround } from '../../helpers/services.ts'
import { recordingServices } from '../../helpers/recording-services.ts'

const HASH = '0f3c9a5be2d84716a0c5d7e9b1f2a3c4'
const PASSAGES: readonly Passage[] = [
  { id: `${HASH}#1`, title: '', text: 'Canberra was founded in 1913. Ministers meet in Canberra.', source: 'handbook/places.pdf' },
  { id: `${HASH}#2`, title: 'The capital', text: 'The capital is Canberra.', source: 'https://example.org/capital' },
  { id: `${HASH}#3`, title: '', text: 'It is governed from there.' },
  { id: `${HASH}#4`, title: 'Sydney', text: 'Sydney is larger.' },
  { id: `${HASH}#5`, title: 'Perth', text: 'Perth is far away.' },
]

/** The page of a service that says a text of the passages above. */
async function openPage(
  t: Test,
  said: string,
  { settings = {}, context = {} }: { settings?: Record<string, string>; context?: object } = {},
) {
  const { app } = await testApp(t, { answering: saidServices(said, PASSAGES) }, settings)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const browser = await openBrowser(t, context)
  const page = await browser.newPage()
  const thrown: string[] = []
  page.on('pageerror', (error) => thrown.push(error.message))
  page.on('console', (message) => message.type() === 'error' && thrown.push(message.text()))
  await page.goto(url)
  await page.locator('#about', { hasText: /\S/ }).waitFor()
  const ask = async (question: string): Promise<void> => {
    await page.locator('#question').fill(question)
    await page.keyboard.press('Enter')
    await answered(page)
  }
  return { page, browser, url, ask, thrown }
}

t.test("the operator's name, sentence and questions; an example asks", { skip: noBrowser }, async (t) => {
  const settings = {
    PAGE_TITLE: 'Ask <Acme> & Co',
    PAGE_ABOUT: 'Places "we" know: {{title}}.',
    PAGE_QUESTIONS: 'What is the capital?; Where is Perth? ;; What is <b>larger</b>?; A fourth?',
  }
  const { page, url, thrown } = await openPage(t, 'Canberra', { settings })
  t.match(await (await fetch(url)).text(), '<h1><a href="./">Ask &#60;Acme&#62; &#38; Co</a></h1>', 'without a script too')
  t.equal(await page.locator('h1').textContent(), settings.PAGE_TITLE)
  t.equal(await page.locator('#about').textContent(), settings.PAGE_ABOUT)
  const examples = page.locator('#examples button')
  await examples.first().waitFor()
  t.same(await examples.allTextContents(), ['What is the capital?', 'Where is Perth?', 'What is <b>larger</b>?'])
  await examples.nth(1).click()
  await answered(page)
  t.equal(await page.locator('#question').inputValue(), 'Where is Perth?')
  t.ok(await page.locator('#examples').isHidden())
  t.equal(await page.title(), 'Where is Perth? - Ask <Acme> & Co')
  t.same(thrown, [])
})

t.test('an answer in the case of a passage, three passages open, and no hash in sight', { skip: noBrowser }, async (t) => {
  const { page, ask } = await openPage(t, 'canberra')
  await ask('what is the capital')
  t.equal(await page.locator('#answer').textContent(), 'Canberra')
  t.same(await openPassages(page), [0, 1, 2])
  const titles = await page.locator('#passages .title').allTextContents()
  t.same(titles, ['1. places.pdf', '2. The capital', '3. Passage 3', '4. Sydney', '5. Perth'])
  t.equal(await page.getByRole('link', { name: 'Open the page https://example.org/capital' }).getAttribute('rel'), 'noreferrer')
  await unfoldAll(page)
  t.notMatch(await page.locator('body').innerText(), /[0-9a-f]{8}|@/i)
})

t.test("the case of a word within a sentence, not of its beginning; accents are the passage's", { skip: noBrowser }, async (t) => {
  for (const [said, text, shown] of [
    ['the emu', 'Emu is a word. A large bird is the emu.', 'the emu'],
    ['sao paulo', 'It lies near São Paulo.', 'São Paulo'],
    ['not there', 'It lies near São Paulo.', 'not there'],
  ] as const) {
    const { app } = await testApp(t, { answering: saidServices(said, [{ id: '1', title: 'x', text }]) })
    const page = await (await openBrowser(t)).newPage()
    await page.goto(`${await app.listen({ host: '127.0.0.1', port: 0 })}/?q=what`)
    await answered(page)
    t.equal(await page.locator('#answer').textContent(), shown)
  }
})

t.test('a link asks its question; Back and Forward go between questions; both can be copied', { skip: noBrowser }, async (t) => {
  const { page, browser, url, ask } = await openPage(t, 'canberra', { context: { permissions: ['clipboard-read', 'clipboard-write'] } })
  await ask('what is the capital & <b>?')
  t.equal(page.url(), `${url}/?q=what%20is%20the%20capital%20%26%20%3Cb%3E%3F`)
  await page.getByRole('button', { name: 'Copy answer' }).click()
  await page.locator('#copied', { hasText: 'Copied.' }).waitFor()
  const copied = await page.evaluate<string>('navigator.clipboard.readText()')
  t.match(copied, /^Question: what is the capital & <b>\?\nAnswer: Canberra \(confidence 0\.\d\d\)\nPassages: /)
  t.match(copied, 'places.pdf (handbook/places.pdf); The capital (https://example.org/capital)')
  t.match(copied, `\n${url}/?passage=${HASH}%231\n`, 'with addresses that open')
  await page.getByRole('button', { name: 'Copy link' }).click()
  const link = await page.evaluate<string>('navigator.clipboard.readText()')
  t.equal(link, page.url())

  const opened = await browser.newPage()
  await opened.goto(link)
  await answered(opened)
  t.equal(await opened.locator('#question').inputValue(), 'what is the capital & <b>?')

  await ask('second')
  await page.goBack()
  await page.waitForFunction('document.querySelector("#question").value.startsWith("what is")')
  await answered(page)
  await page.goBack()
  await page.locator('#result').waitFor({ state: 'hidden' })
  t.equal(await page.locator('#question').inputValue(), '')
  t.notOk(await page.locator('#problem').isVisible())
  await page.goForward()
  await answered(page)
  t.equal(await page.locator('#answer').textContent(), 'Canberra')
})

t.test('without a clipboard the text is copied the old way', { skip: noBrowser }, async (t) => {
  const { page, ask } = await openPage(t, 'canberra')
  await ask('what is the capital')
  await page.evaluate(`
    Object.defineProperty(navigator, 'clipboard', { value: undefined })
    document.execCommand = (name) => ((window.copied = name + ' ' + document.activeElement.value), window.allowed ?? true)`)
  await page.getByRole('button', { name: 'Copy answer' }).click()
  t.match(await page.evaluate('window.copied'), /^copy Question: /)
  t.equal(await page.locator('#copied').textContent(), 'Copied.')
  await page.evaluate('window.allowed = false')
  await page.getByRole('button', { name: 'Copy link' }).click()
  t.match(await page.locator('#copied').textContent(), 'does not let')
})

t.test('on a phone: the answer in the upper third, no hints for keys, nothing wider than the screen', { skip: noBrowser }, async (t) => {
  const about = 'A long sentence of the operator that says what is in the corpus, and that goes on over several lines of a phone. '.repeat(
    2,
  )
  const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }
  const { page, ask } = await openPage(t, 'canberra', { settings: { PAGE_ABOUT: about }, context: phone })
  t.ok(await page.locator('#keys').isHidden())
  await ask('what is the capital of the country')
  const box = await page.locator('#answer').boundingBox()
  t.ok(box && box.y >= 0 && box.y + box.height <= 300, JSON.stringify(box))
  t.ok(await page.evaluate('document.activeElement === document.body'), 'the keyboard is put away')
  t.ok(await page.evaluate('document.documentElement.scrollWidth <= window.innerWidth'))
  await page.setViewportSize({ width: 320, height: 640 })
  t.ok(await page.evaluate('document.documentElement.scrollWidth <= window.innerWidth'), 'nor than a small one')
})

t.test('what tunes is folded away, and comes up where it is wrong', { skip: noBrowser }, async (t) => {
  const { page, ask } = await openPage(t, 'canberra')
  t.notOk(await page.locator('[name=k]').isVisible())
  const [request] = await Promise.all([page.waitForRequest('**/v1/answer'), ask('what is the capital')])
  t.same(request.postDataJSON(), { question: 'what is the capital', stream: true }, 'the service has its own defaults')
  await page.getByText('Advanced').click()
  await page.locator('[name=k]').fill('5000')
  await page.getByText('Advanced').click()
  await page.locator('#go').click()
  await page.locator('[name=k]').waitFor()
  t.equal(await page.evaluate('document.activeElement.name'), 'k')
})

const TEXT = 'Nobody reads this. The treaty was signed in Lisbon by all of them.'
const READ = TEXT.indexOf('The treaty')

/** The page of a service whose reader reads the end of a document, and says a text of it. */
async function openOwn(t: Test, said: string) {
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
  const { page, ask, choose } = await openOwn(t, 'lisbon')
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
  const { page, ask } = await openOwn(t, '')
  await page.getByLabel('or its text').fill(TEXT)
  await ask('who paid')
  await answered(page)
  t.equal(await page.locator('#answer').textContent(), 'The document does not say')
  t.ok(await page.locator('#sure').isHidden())
})

t.test('without a document, with one of another kind, and with one that is too large, the page says so', { skip: noBrowser }, async (t) => {
  const { page, ask, choose } = await openOwn(t, 'lisbon')
  await ask('where was it signed')
  await page.locator('#problem', { hasText: 'Choose a file first, or paste a text.' }).waitFor()
  t.equal(await page.locator('#go').textContent(), 'Ask')
  await choose('picture.png', Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'))
  await ask('where was it signed')
  await page.locator('#problem', { hasText: /Pictures are read by OCR only/ }).waitFor()
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
