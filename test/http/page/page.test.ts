import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { startServer } from '../../helpers/cli.ts'
import { noBrowser, openBrowser } from './browser.ts'

const KEY = 'key-for-the-page-test'
const CORPUS = [
  ['1', 'Canberra is the capital of Australia. It was founded in 1913 and lies between Sydney and Melbourne.', 'Canberra'],
  ['2', 'Australia, an independent country since 1901, is governed from Canberra, its capital. English is spoken there.', 'Australia'],
  ['3', 'The Orinoco rises in the Parima Mountains and empties into the Atlantic Ocean in Venezuela.', 'Orinoco'],
]
const tsv = (rows: readonly string[][]) => ['id\ttext\ttitle', ...rows.map((row) => row.join('\t')), ''].join('\n')

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
  const browser = await openBrowser(t)
  const page = await browser.newPage({ colorScheme: 'dark', viewport: { width: 375, height: 700 } })
  const asked: string[] = []
  const complaints: string[] = []
  page.on('request', (request) => asked.push(request.url()))
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(error.message))

  await page.goto(server.url)
  await page.getByText('3 passages').waitFor()
  t.match(await page.locator('#about').textContent(), /reader cepe@.*retriever contriever@/)

  await t.test('by keyboard alone: a question, its answer, marked passages', async (t) => {
    await page.locator('body').click({ position: { x: 1, y: 1 } })
    await page.keyboard.press('/')
    await page.keyboard.type('what is the capital of australia')
    await page.keyboard.press('Enter')
    await page.getByText('ms in all').waitFor()
    const answer = (await page.locator('#answer').textContent()) ?? ''
    t.ok(answer.length > 0)
    t.match(await page.locator('#sure').textContent(), /confidence|likely/)
    t.equal(await page.locator('#passages li').count(), 3)
    t.match(await page.locator('#times').textContent(), /embed .* generate .* ms in all/)
    const marks = await page.locator('mark').allTextContents()
    if (CORPUS.some((row) => row[1]?.toLowerCase().includes(answer))) t.ok(marks.length > 0)
    for (const mark of marks) t.match(answer.toLowerCase(), mark.toLowerCase())
  })

  await t.test('the switches change the request, and the change of latency is told', async (t) => {
    await page.locator('[name=k]').fill('1')
    await page.locator('[name=method]').selectOption('text')
    const [request] = await Promise.all([page.waitForRequest(`${server.url}/v1/answer`), page.locator('#go').click()])
    t.match(request.postDataJSON(), { k: 1, method: 'text' })
    await page.locator('#times', { hasText: 'against the answer before' }).waitFor()
    t.equal(await page.locator('#passages li').count(), 1)
    t.same(await page.locator('#history button').allTextContents(), ['what is the capital of australia'], 'asked twice, remembered once')
  })

  await t.test('an answer that is withheld is none', async (t) => {
    await page.route('**/v1/answer', (route) =>
      route.continue({ postData: JSON.stringify({ ...(route.request().postDataJSON() as object), min_confidence: 1 }) }),
    )
    await page.locator('#go').click()
    await page.getByText('No confident answer').waitFor()
    t.match(await page.locator('#sure').textContent(), /^\d+ % likely right$/)
    t.equal(await page.locator('#passages li').count(), 1)
    t.equal(await page.locator('mark').count(), 0)
    await page.unroute('**/v1/answer')
  })

  await t.test('what the service refuses is told', async (t) => {
    await page.evaluate("document.querySelector('[name=k]').removeAttribute('max')")
    await page.locator('[name=k]').fill('5000')
    await page.locator('#go').click()
    await page.locator('#problem', { hasText: 'k must be <= 200' }).waitFor()
    t.pass()
  })

  await t.test('whoever has the key adds passages and sees them counted', async (t) => {
    await page.getByText('Key and corpus').click()
    await page
      .locator('#corpus')
      .setInputFiles({ name: 'more.tsv', mimeType: 'text/plain', buffer: Buffer.from(tsv([['9', 'Bern is in Switzerland.', 'Bern']])) })
    await page.getByRole('button', { name: 'Index' }).click()
    await page.locator('#upload-problem', { hasText: 'admin key' }).waitFor()
    await page.locator('#key').fill(KEY)
    await page.getByRole('button', { name: 'Index' }).click()
    await page.locator('#job', { hasText: 'done: 1 of 1 passages' }).waitFor()
    await page.getByText('4 passages').waitFor()
    t.pass()
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
    await forgetful.getByText('ms in all').waitFor()
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
