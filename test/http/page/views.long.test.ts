import t, { type Test } from 'tap'
import type { Page } from 'playwright-core'
import { readFile } from 'node:fs/promises'
import { answered, complaintsOf, noBrowser, openBrowser } from './browser.ts'
import { ADMIN_KEY, library } from './library.ts'

/** The page of a library, with the admin's key. */
async function openLibrary(t: Test, address: string, given: Parameters<typeof library>[1] & { readonly key?: string } = {}) {
  const { key = ADMIN_KEY, ...options } = given
  const made = await library(t, options)
  const context = await openBrowser(t, { permissions: ['clipboard-read', 'clipboard-write'] })
  const page = await context.newPage()
  if (key !== '') await page.addInitScript(`sessionStorage.getItem('key') ?? sessionStorage.setItem('key', '${key}')`)
  const complaints = complaintsOf(page)
  await page.goto(`${made.url}/${address}`)
  const copied = () => page.evaluate<string>('navigator.clipboard.readText()')
  return { ...made, page, context, complaints, copied }
}

async function ask(page: Page, question: string): Promise<void> {
  await page.locator('#question').fill(question)
  await page.keyboard.press('Enter')
  await answered(page)
}

t.test('from an answer to its source, to a passage, and back where it was', { skip: noBrowser }, async (t) => {
  const { page, url, complaints, copied } = await openLibrary(t, '')
  let asked = 0
  page.on('request', (request) => (asked += request.url().endsWith('/v1/answer') ? 1 : 0))
  await ask(page, 'who composed aida')
  const first = page.locator('#passages li').first()
  t.equal(await first.locator('summary').innerText(), '1. Opera guide answer from here')
  t.match(
    await first.getByRole('link', { name: 'Open music/opera.pdf at page 3' }).getAttribute('href'),
    /v1\/passages\/opera%238\/file#page=3$/,
  )
  await first.getByRole('button', { name: 'Copy with source' }).click()
  await first.getByText('Copied.').waitFor()
  t.equal(
    await copied(),
    `"Having become known for Aida, the musician Giuseppe Verdi died in 1901." Opera guide, music/opera.pdf, page 3. ${url}/?passage=opera%238`,
  )
  await first.getByRole('link', { name: 'music/opera.pdf, page 3' }).click()
  await page.locator('#view').getByText('2 passages, in reading order.').waitFor()
  t.equal(page.url(), `${url}/?source=music%2Fopera.pdf`)
  t.equal(await page.title(), 'music/opera.pdf - Ask your documents')
  t.equal(await page.evaluate('document.activeElement.textContent'), 'music/opera.pdf', 'the focus is on the heading')
  t.same(await page.locator('#view .cards .title').allTextContents(), ['Act 1', 'Act 2'])
  t.equal(await page.locator('#view h3').textContent(), 'Passages 1 to 2 of 2')
  await page.getByRole('link', { name: 'Link to passage' }).nth(1).click()
  await page.locator('#view h2', { hasText: 'Opera guide' }).waitFor()
  t.equal(await page.locator('#view section > .quiet').textContent(), 'music/opera.pdf, page 3, Act 2')
  await page.getByRole('link', { name: 'Back to the question' }).click()
  await answered(page)
  t.equal(asked, 1, 'an answer that is there is not asked for again')
  t.equal(await page.title(), 'who composed aida - Ask your documents')
  await page.goBack()
  await page.locator('#view h2', { hasText: 'Opera guide' }).waitFor()
  const [other] = await Promise.all([
    page.context().waitForEvent('page'),
    page
      .locator('#view a', { hasText: 'music/opera.pdf' })
      .first()
      .click({ modifiers: ['Control'] }),
  ])
  t.match(other.url(), /source=music/, 'another tab where one is asked for')
  t.same(complaints, [])
})

t.test('one passage, marked; one that is gone; marks out of bounds', { skip: noBrowser }, async (t) => {
  const { page, url } = await openLibrary(t, '?passage=opera%238&mark=43-57', { key: '' })
  await page.locator('#view mark').waitFor()
  t.equal(await page.locator('#view mark').textContent(), 'Giuseppe Verdi')
  await page.goto(`${url}/?passage=opera%238&mark=43-5700`)
  await page.locator('#view .cards').waitFor()
  t.equal(await page.locator('#view mark').count(), 0)
  await page.goto(`${url}/?passage=none`)
  await page.locator('#view .cards').waitFor()
  t.equal(await page.locator('#view .passage').innerText(), 'A note of no source:\n- one item\n- another', 'each item on its line')
  await page.goto(`${url}/?passage=nowhere`)
  await page.getByText('This passage is not in here any more.').waitFor()
  await page.goto(`${url}/?source=nowhere.pdf`)
  await page.getByText('There are no passages of this source any more.').waitFor()
  await page.goto(`${url}/?source=`)
  await page.locator('#view .cards li').waitFor()
  t.equal(await page.locator('#view h2').textContent(), 'Without a source')
  t.equal(await page.getByRole('link', { name: 'Ask in this source' }).count(), 0)
})

t.test('what is in here: counts, a search, names; texts stay texts', { skip: noBrowser }, async (t) => {
  const { page, url, add } = await openLibrary(t, '?view=sources', { key: '' })
  await page.getByText('4 passages from 3 sources.').waitFor()
  t.same(await page.locator('#view tbody tr').allInnerTexts(), [
    'https://docs.example.org/install\t1',
    'music/opera.pdf\t2',
    'Without a source\t1',
  ])
  await page.getByLabel('Search the passages').fill('first "night"')
  await page.keyboard.press('Enter')
  await page.locator('#view h3', { hasText: '4 passages nearest to "first "night""' }).waitFor()
  t.equal(page.url(), `${url}/?view=sources&find=first%20%22night%22`)
  await page.getByRole('link', { name: 'Show all sources' }).click()
  await page.locator('#view table').waitFor()
  await add(Array.from({ length: 120 }, (_, i) => ({ id: `m${i}`, title: '', text: 'x', source: `<b>${String(i).padStart(3, '0')}</b>` })))
  await page.reload()
  await page.getByText('124 passages from 123 sources.').waitFor()
  t.equal(await page.locator('#view tbody tr').count(), 100)
  await page.getByRole('button', { name: 'Show 100 more' }).click()
  await page.locator('#view tbody tr').nth(122).waitFor()
  await page.getByLabel('Show sources whose name has').fill('b>01')
  await page.locator('#view tbody tr').nth(10).waitFor({ state: 'detached' })
  t.equal(await page.locator('#view tbody tr').count(), 10)
  t.equal(await page.locator('#view tbody b').count(), 0)
})

t.test('several collections: chosen, remembered, named in addresses', { skip: noBrowser }, async (t) => {
  const { page, url } = await openLibrary(t, '', { key: '' })
  const picker = page.getByLabel('Collection')
  await picker.waitFor()
  t.same(await picker.locator('option').allTextContents(), ['contracts', 'passages'])
  t.equal(await picker.inputValue(), 'passages')
  await page.locator('#browse').click()
  await page.locator('#view').getByLabel('Collection').selectOption('contracts')
  await page.getByText('0 passages from 0 sources.').waitFor()
  t.equal(page.url(), `${url}/?view=sources&collection=contracts`)
  await page.goto(`${url}/`)
  await page.locator('#empty').waitFor()
  t.ok(true, 'the last choice is remembered, and is empty')
  await page.goto(`${url}/?q=who+composed+aida`)
  await answered(page)
  t.equal(await page.locator('#answer').textContent(), 'Giuseppe Verdi', 'an address without a collection means the default one')
})

t.test('thumbs are sent with the question and the answer', { skip: noBrowser }, async (t) => {
  const file = `${t.testdir()}/feedback.jsonl`
  const { page } = await openLibrary(t, '', { settings: { FEEDBACK: file } })
  await page.getByText('4 passages').waitFor()
  await ask(page, 'who composed aida')
  const [right, wrong] = [page.getByRole('button', { name: 'Right' }), page.getByRole('button', { name: 'Wrong' })]
  await wrong.click()
  t.equal(await wrong.getAttribute('aria-pressed'), 'true')
  await page.keyboard.press('Escape')
  t.same([await wrong.getAttribute('aria-pressed'), await wrong.getAttribute('aria-expanded')], ['false', 'false'])
  await right.click()
  await page.getByText('Thank you. It is kept.').first().waitFor()
  t.equal(await right.getAttribute('aria-pressed'), 'true')
  await wrong.click()
  await page.getByLabel('What is right? You may leave it empty.').fill('Antonio Ghislanzoni')
  await page.keyboard.press('Enter')
  await page.locator('#wrong[aria-pressed=true]').waitFor()
  await page.getByText('Thank you. It is kept.').first().waitFor()
  const kept = (await readFile(file, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as object)
  t.match(kept, [
    { question: 'who composed aida', answers: ['giuseppe verdi'], feedback: { correct: true, answer: 'giuseppe verdi' } },
    { question: 'who composed aida', answers: ['Antonio Ghislanzoni'], feedback: { correct: false } },
  ])
  await page.route('**/feedback', (route) => route.fulfill({ status: 507, json: { error: { code: 'disk_full', message: 'Full.' } } }))
  await right.click()
  await page.getByText('It could not be kept: the service has no room for feedback.').first().waitFor()
  t.equal(await right.getAttribute('aria-pressed'), 'false')
})

t.test('no thumbs without a key, and none where nothing is kept', { skip: noBrowser }, async (t) => {
  const { page } = await openLibrary(t, '?q=who')
  await answered(page)
  t.ok(await page.locator('#right').isHidden())
})

t.test('a follow-up stands under the answer, and is found under the question that was searched for', { skip: noBrowser }, async (t) => {
  const { page, url } = await openLibrary(t, '?q=who+composed+aida', { key: '' })
  await answered(page)
  const sent: object[] = []
  await page.route('**/v1/answer', async (route) => {
    const { earlier, ...body } = route.request().postDataJSON() as { earlier?: object; question: string }
    sent.push({ earlier, question: body.question })
    const response = await route.fetch({ postData: JSON.stringify({ ...body, stream: false }) })
    const answer = (await response.json()) as object
    await route.fulfill({ json: { ...answer, question: earlier ? 'when did Giuseppe Verdi die' : body.question } })
  })
  await page.getByRole('button', { name: 'Ask a follow-up' }).click()
  await page.keyboard.type('when did he die')
  await page.keyboard.press('Enter')
  await page.locator('#sure', { hasText: 'Searched for: "when did Giuseppe Verdi die"' }).waitFor()
  t.same(sent, [{ earlier: [{ question: 'who composed aida', answer: 'giuseppe verdi' }], question: 'when did he die' }])
  t.same(await page.locator('#turns li').allTextContents(), ['who composed aida Giuseppe Verdi'])
  t.equal(page.url(), `${url}/?q=when%20did%20Giuseppe%20Verdi%20die`)
  t.equal(await page.locator('#question').inputValue(), 'when did Giuseppe Verdi die')
  t.ok(await page.getByLabel('Follow-up').isVisible(), 'it stays open for the next one')
  t.equal(await page.getByLabel('Follow-up').inputValue(), '')
  await ask(page, 'what else')
  t.equal(await page.locator('#turns li:visible').count(), 0, 'the top field starts anew')
  t.notOk('earlier' in (sent[1] as { earlier?: object }) && (sent[1] as { earlier?: object }).earlier)
  await page.goBack()
  await answered(page)
  t.equal(await page.locator('#question').inputValue(), 'when did Giuseppe Verdi die')
})

t.test('without JavaScript the page says that it needs it; no view is wider than a small phone', { skip: noBrowser }, async (t) => {
  const { url, page } = await openLibrary(t, '?view=sources', { key: '' })
  await page.locator('#view table').waitFor()
  await page.setViewportSize({ width: 320, height: 640 })
  t.ok(await page.evaluate('document.documentElement.scrollWidth <= window.innerWidth'))
  t.match(
    await (await fetch(url)).text(),
    /<noscript>\s*<p>This page needs JavaScript\. The service also answers over HTTP: see <a href="docs">/,
  )
})

t.test('managing: collections and snapshots are made, restored and deleted in place', { skip: noBrowser }, async (t) => {
  const { page, services } = await openLibrary(t, '?view=manage')
  await page.getByLabel('New snapshot').fill('monday')
  await page.keyboard.press('Enter')
  await page.locator('.rows li', { hasText: 'monday' }).getByText('4 passages').waitFor()
  await services.index.delete({ source: 'music/opera.pdf' })
  await page.getByRole('button', { name: 'Restore monday' }).click()
  await page.getByText('Put monday in the place of passages? What was added or deleted since then is gone.').waitFor()
  await page.getByRole('button', { name: 'Restore monday', exact: true }).last().click()
  await page.getByText('monday was restored.').first().waitFor({ state: 'attached' })
  t.equal(await services.index.count(), 4)
  await page.getByLabel('New collection').fill('1st')
  await page.keyboard.press('Enter')
  await page.locator('#view .problem:visible').waitFor()
  await page.getByLabel('New collection').fill('tax')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Delete tax' }).click()
  await page.getByText('Delete tax with its 0 passages and its snapshots?').waitFor()
  await page.getByRole('button', { name: 'Delete tax', exact: true }).last().click()
  await page.locator('.rows li', { hasText: 'tax' }).waitFor({ state: 'detached' })
  t.same(await services.collections.names(), ['contracts', 'passages'])
})

t.test('managing: jobs by their state, with what was left out, and what can be done', { skip: noBrowser }, async (t) => {
  const { page, url } = await openLibrary(t, '', { key: ADMIN_KEY })
  const made = (id: string, changes: object) => ({
    ...{ id, table: 'passages', source: { name: id, path: null }, created_at: '2026-01-05T09:00:00.000Z', finished_at: null },
    ...{ eta_s: null, stage: null, recent_rejects: [], warnings: [], error: null, result: null },
    counters: { read: 0, rejected: 0, accepted: 0, embedded: 0, skipped: 0, committed: 0 },
    ...changes,
  })
  const counted = (accepted: number, committed: number, rejected = 0) => ({
    counters: { read: 0, rejected, accepted, embedded: 0, skipped: 0, committed },
  })
  const rejects = [1, 2, 3, 4, 5].map((line) => ({ line, reason: 'bad', detail: `Problem ${line}.` }))
  const jobs = [
    made('table', { state: 'done', ...counted(612, 612, 5), recent_rejects: rejects }),
    made('stopped', { state: 'stopped', ...counted(5210, 300), error: { code: 'disk_full', message: 'The disk is full.' } }),
    made('indexing', { state: 'indexing', ...counted(1840, 1104), eta_s: 39.5 }),
    made('elsewhere', { state: 'done', table: 'contracts' }),
  ]
  const asked: string[] = []
  await page.route('**/v1/admin/index-jobs**', (route) => route.fulfill({ json: { jobs } }))
  await page.route('**/v1/admin/index-jobs/**', (route) => {
    asked.push(`${route.request().method()} ${new URL(route.request().url()).pathname}`)
    const report = rejects.map((one) => JSON.stringify(one)).join('\n')
    return route.request().url().endsWith('report') ? route.fulfill({ body: report }) : route.fulfill({ json: jobs[0] })
  })
  await page.goto(`${url}/?view=manage`)
  const cards = page.locator('#view .cards > li')
  await cards.first().waitFor()
  const [indexing, stopped, table] = [cards.nth(0), cards.nth(1), cards.nth(2)]
  t.equal(await cards.count(), 3, 'those of the collection')
  t.match(await indexing.innerText(), /indexing\s+Indexing, 40 s left\s+1,104 of 1,840 passages/)
  t.equal(await indexing.locator('progress').getAttribute('value'), '0.6')
  t.match(await stopped.innerText(), /Stopped[^]*The disk is full\.[^]*Resume\s+Cancel/)
  t.match(await table.innerText(), /612 passages; 5 lines rejected\s+5 Jan 2026, /)
  await table.locator('summary').click()
  t.equal(await table.locator('.rows li').count(), 3)
  t.equal(await table.locator('.rows li').first().innerText(), 'line 1\nProblem 1.')
  await table.getByRole('button', { name: 'Show all 5' }).click()
  await table.locator('.rows li').nth(4).waitFor()
  const [download] = await Promise.all([page.waitForEvent('download'), table.getByRole('button', { name: 'Save the report' }).click()])
  t.equal(download.suggestedFilename(), 'report-table.jsonl')
  await stopped.getByRole('button', { name: 'Resume' }).click()
  await indexing.getByRole('button', { name: 'Cancel' }).click()
  while (asked.length < 4) await page.waitForTimeout(20)
  t.same(asked, [
    'GET /v1/admin/index-jobs/table/report',
    'GET /v1/admin/index-jobs/table/report',
    'POST /v1/admin/index-jobs/stopped/resume',
    'DELETE /v1/admin/index-jobs/indexing',
  ])
  t.equal(await table.locator('details[open]').count(), 1, 'what is open stays open')
})
