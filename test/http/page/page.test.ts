import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { startServer } from '../../helpers/cli.ts'
import { fileUrl } from '../../helpers/root.ts'
import { answered, noBrowser, openBrowser } from './browser.ts'

const KEY = 'key-for-the-page-test'
const CORPUS = [
  ['1', 'Canberra is the capital of Australia. It was founded in 1913 and lies between Sydney and Melbourne.', 'Canberra'],
  ['2', 'Australia, an independent country since 1901, is governed from Canberra, its capital. English is spoken there.', 'Australia'],
  ['3', 'The Orinoco rises in the Parima Mountains and empties into the Atlantic Ocean in Venezuela.', 'Orinoco'],
]
const tsv = (rows: readonly string[][]) => ['id\ttext\ttitle', ...rows.map((row) => row.join('\t')), ''].join('\n')

t.test('a field with half of a surrogate pair is refused in the words of the service, not by an error of the browser', async (t) => {
  const { withQuery } = (await import(fileUrl('src/http/page/api.js').href)) as { withQuery: (url: string, query: object) => string }
  t.equal(withQuery('v1/sources', { contains: 'é \u{1f600}&', after: undefined }), 'v1/sources?contains=%C3%A9%20%F0%9F%98%80%26')
  for (const contains of ['x\ud83d', '\ude00'])
    t.throws(() => withQuery('v1/sources', { contains }), { name: 'Error', message: /half of a surrogate pair.*Cut it elsewhere\.$/ })
})

t.test('the page in a browser', { skip: noBrowser, timeout: 300_000 }, async (t) => {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-page-'))
  t.teardown(async () => {
    await rm(dir, { recursive: true, force: true, maxRetries: 5 })
  })
  const corpus = path.join(dir, 'corpus.tsv')
  await writeFile(corpus, tsv(CORPUS))
  const server = await startServer({
    CEPE_READER_CHECKPOINT: 'models/tiny/checkpoint/cepe',
    CEPE_RETRIEVER_CHECKPOINT: 'models/tiny/checkpoint/contriever',
    CEPE_READER_DIR: path.join(dir, 'reader'),
    CEPE_RETRIEVER_DIR: path.join(dir, 'retriever'),
    CEPE_INDEX_DIR: path.join(dir, 'index'),
    CEPE_CORPUS: corpus,
    CEPE_ADMIN_KEY: KEY,
    CEPE_READERS: '1',
    CEPE_LOG_LEVEL: 'warn',
  })
  t.teardown(() => server.stop())
  const browser = await openBrowser(t, { colorScheme: 'dark', viewport: { width: 375, height: 700 } })
  const page = await browser.newPage()
  const asked: string[] = []
  const complaints: string[] = []
  page.on('request', (request) => asked.push(request.url()))
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(error.message))

  await page.goto(server.url)
  await page.getByText('3 passages').waitFor()
  t.equal(await page.locator('#about').textContent(), '3 passages about Canberra, Australia and Orinoco.')
  t.same(
    await page.locator('#examples button').allTextContents(),
    ['Canberra', 'Australia', 'Orinoco'].map((title) => `What is said about ${title}?`),
  )

  await t.test('by keyboard alone: a question, its answer, marked passages', async (t) => {
    await page.locator('body').click({ position: { x: 1, y: 1 } })
    await page.keyboard.press('/')
    await page.keyboard.type('what is the capital of australia')
    await page.keyboard.press('Enter')
    await answered(page)
    const answer = (await page.locator('#answer').textContent()) ?? ''
    t.ok(answer.length > 0)
    t.match(await page.locator('#sure').textContent(), /confidence|likely/)
    t.match(await page.locator('#status').textContent(), `Answer: ${answer}.`, 'it is announced')
    t.equal(await page.locator('#passages li').count(), 3)
    t.match(await page.locator('#times').textContent(), /embed .* generate .* ms/)
    const marks = await page.locator('mark').allTextContents()
    if (CORPUS.some((row) => row[1]?.toLowerCase().includes(answer))) t.ok(marks.length > 0)
    for (const mark of marks) t.match(answer.toLowerCase(), mark.toLowerCase())
    t.match(
      await page.locator('#model').textContent(),
      /^\d+\.\d s in all; \d of 3 passages w(as|ere) read\. Reader cepe, retriever contriever\.$/,
    )
  })

  await t.test('the switches change the request', async (t) => {
    await page.getByText('Advanced').click()
    await page.locator('[name=k]').fill('1')
    await page.locator('[name=method]').selectOption('text')
    const [request] = await Promise.all([page.waitForRequest(`${server.url}/v1/answer`), page.locator('#go').click()])
    t.match(request.postDataJSON(), { k: 1, method: 'text' })
    await answered(page)
    t.equal(await page.locator('#passages li').count(), 1)
    t.same(await page.locator('#history button').allTextContents(), ['what is the capital of australia'], 'asked twice, remembered once')
  })

  await t.test('an answer that is withheld is none: the nearest sentence stands in its place', async (t) => {
    await page.locator('[name=min_confidence]').fill('1')
    await page.locator('#go').click()
    await page.locator('#answer', { hasText: 'No confident answer' }).waitFor()
    await answered(page)
    t.match(await page.locator('#sure').textContent(), /^The answer was withheld: (\d+ % likely right|confidence 0\.\d+)\.$/)
    t.ok(await page.locator('#extract').isVisible())
    const sentence = (await page.locator('#sentence').textContent()) ?? ''
    t.ok(CORPUS.some(([, text = '']) => text.includes(sentence)))
    t.match(await page.locator('.support').allTextContents(), [sentence], 'it is marked in its passage')
    t.equal(await page.locator('#passages li').count(), 1)
    t.equal(await page.locator('mark').count(), 0)
    await page.locator('[name=min_confidence]').fill('')
  })

  await t.test('a document of its own: pasted, then a file', async (t) => {
    await page.getByLabel('A document of my own').check()
    await page.getByLabel('or its text').fill('Bern is the capital of Switzerland. It lies on the Aare.')
    await page.locator('#question').fill('what is the capital of switzerland')
    const [request] = await Promise.all([page.waitForRequest(`${server.url}/v1/documents/answer`), page.locator('#go').click()])
    t.match(request.headers()['content-type'], /^multipart\/form-data/)
    await answered(page)
    t.ok((await page.locator('#answer').textContent()) !== '')
    t.match(await page.locator('#passages summary').first().textContent(), '1. Pasted text')
    t.match(await page.locator('#passages').textContent(), 'Bern is the capital of Switzerland.')
    await page.locator('#file').setInputFiles({
      name: 'notes.html',
      mimeType: 'text/html',
      buffer: Buffer.from('<title>Notes</title><p>Oslo is the capital of Norway.</p>'),
    })
    t.equal(await page.locator('#text').inputValue(), '', 'of both the last one counts')
    await page.locator('#question').fill('what is the capital of norway')
    await page.locator('#go').click()
    await page.locator('#passages', { hasText: 'Oslo is the capital' }).waitFor()
    t.match(await page.locator('#passages summary').first().textContent(), '1. Notes')
    await page.getByLabel('All passages').check()
  })

  await t.test('what the service refuses is told', async (t) => {
    await page.evaluate("document.querySelector('[name=k]').removeAttribute('max')")
    await page.locator('[name=k]').fill('5000')
    await page.locator('#go').click()
    await page.locator('#problem', { hasText: 'k must be <= 200' }).waitFor()
    t.pass()
  })

  await t.test('a folder becomes passages, and a source that is opened, asked and deleted', async (t) => {
    await page.locator('#manage-link').click()
    await page.getByLabel('Admin key').fill('not this key')
    await page.keyboard.press('Enter')
    await page.locator('#view').getByText('This key is not known here.').waitFor()
    await page.getByLabel('Admin key').fill(KEY)
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Add to passages' }).click()
    await page.locator('#upload').getByText('Choose files first.').waitFor()
    const folder = path.join(dir, 'handbook')
    for (const [file, text] of [
      ['swiss/README.md', '# Bern\n\nBern is the capital of Switzerland.'],
      ['norway/README.md', '# Oslo\n\nOslo is the capital of Norway.'],
      ['norway/floor.png', 'x'],
    ] as const) {
      await mkdir(path.dirname(path.join(folder, file)), { recursive: true })
      await writeFile(path.join(folder, file), text)
    }
    await page.locator('#folder').setInputFiles(folder)
    await page.locator('#upload').getByText('3 files, 0 kB').waitFor()
    await page.getByRole('button', { name: 'Add to passages' }).click()
    const job = page.locator('#view .cards > li').first()
    await job.getByText('2 files, 2 passages; 1 left out').waitFor()
    await job.getByText('Done').waitFor()
    t.match(
      await job.innerText(),
      /norway\/floor\.png\s+Pictures are read by OCR only, which is switched off/,
      'what was left out, unfolded',
    )
    await page.locator('.rows', { hasText: '5 passages, the default' }).waitFor()

    await page.getByRole('link', { name: 'Back to the question' }).click()
    await page.locator('#about', { hasText: '5 passages' }).waitFor({ state: 'attached' })
    await page.goto(`${server.url}/?view=sources`)
    await page.locator('#view').getByText('5 passages from 3 sources.').waitFor()
    await page.getByRole('link', { name: 'handbook/swiss/README.md' }).click()
    await page.locator('#view').getByText('1 passage, in reading order.').waitFor()
    t.equal(await page.title(), 'handbook/swiss/README.md - Ask your documents')
    await page.getByRole('link', { name: 'Ask in this source' }).click()
    await page.locator('#only', { hasText: 'Only in handbook/swiss/README.md' }).waitFor()
    await page.locator('#question').fill('what is the capital of switzerland')
    await page.keyboard.press('Enter')
    await answered(page)
    t.match(page.url(), /\?q=what%20is.*&source=handbook%2Fswiss%2FREADME\.md$/)
    t.same(await page.locator('#passages .title').allTextContents(), ['1. Bern'])
    await page.locator('#passages .foot').getByText('handbook/swiss/README.md').click()
    await page.getByRole('button', { name: 'Delete this source' }).click()
    t.equal(await page.evaluate('document.activeElement.textContent'), 'Keep them', 'the focus is on the harmless button')
    await page.keyboard.press('Escape')
    t.equal(await page.evaluate('document.activeElement.textContent'), 'Delete this source')
    await page.getByRole('button', { name: 'Delete this source' }).click()
    await page.getByRole('button', { name: 'Delete 1 passage' }).click()
    await page.getByText('1 passage was deleted.').first().waitFor()
    await page.locator('#view').getByText('4 passages from 2 sources.').waitFor()
    await page.goto(server.url)
  })

  await t.test('a browser that keeps nothing asks as well', async (t) => {
    const forgetful = await browser.newPage()
    const thrown: string[] = []
    forgetful.on('pageerror', (error) => thrown.push(error.message))
    await forgetful.addInitScript(
      "for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(window, name, { get() { throw new DOMException('denied', 'SecurityError') } })",
    )
    await forgetful.goto(server.url)
    await forgetful.locator('#question').fill('what is the capital of australia')
    await forgetful.locator('#go').click()
    await answered(forgetful)
    t.equal(await forgetful.locator('#problem').isVisible(), false)
    t.same(thrown, [])
    await forgetful.close()
  })

  await t.test('it fits a phone, is dark where wanted, and loads nothing from elsewhere', async (t) => {
    t.ok(await page.evaluate('document.documentElement.scrollWidth <= window.innerWidth'))
    t.equal(await page.evaluate('getComputedStyle(document.body).backgroundColor'), 'rgb(21, 23, 27)')
    t.same(
      asked.filter((url) => !url.startsWith(server.url) && !url.startsWith('data:')),
      [],
    )
    t.same(
      complaints.filter((text) => !/status of 40[01]/.test(text)),
      [],
    )
  })
})
