import t from 'tap'
import type { Page } from 'playwright-core'
import { answered, noBrowser, openBrowser, unfoldAll, violations } from './browser.ts'
import { ADMIN_KEY, library } from './library.ts'

const DESKTOP = { width: 1280, height: 900 }
const PHONE = { width: 390, height: 844 }

/** What axe finds on a desktop and a phone; in the other scheme of each its colours alone, since nothing else differs. */
async function found(page: Page): Promise<string[]> {
  const all: string[] = []
  for (const [viewport, scheme, other] of [
    [DESKTOP, 'light', 'dark'],
    [PHONE, 'dark', 'light'],
  ] as const) {
    await page.setViewportSize(viewport)
    await page.emulateMedia({ colorScheme: scheme })
    all.push(...(await violations(page)))
    await page.emulateMedia({ colorScheme: other })
    all.push(...(await violations(page, ['color-contrast'])))
    if (await page.evaluate<boolean>('document.documentElement.scrollWidth > window.innerWidth')) all.push(`wider than ${viewport.width}`)
  }
  return all
}

t.test('axe finds nothing in any view, light and dark, on a desktop and on a phone', { skip: noBrowser, timeout: 120_000 }, async (t) => {
  const { url } = await library(t, { settings: { PAGE_QUESTIONS: 'One?; Two?', FEEDBACK: `${t.testdir()}/feedback.jsonl` } })
  const page = await (await openBrowser(t)).newPage()
  await page.addInitScript(`sessionStorage.setItem('key', '${ADMIN_KEY}')`)
  await page.goto(url)
  await page.locator('#examples button').first().waitFor()
  t.same(await found(page), [], 'as it is opened')

  await page.locator('#examples button').first().click()
  await answered(page)
  await unfoldAll(page)
  await page.getByRole('button', { name: 'Wrong' }).click()
  await page.getByRole('button', { name: 'Ask a follow-up' }).click()
  t.same(await found(page), [], 'with an answer, and everything unfolded')

  await page.locator('[name=min_confidence]').fill('1')
  await page.locator('#go').click()
  await page.locator('#answer', { hasText: 'No confident answer' }).waitFor()
  await answered(page)
  t.same(await found(page), [], 'with an answer that is withheld')

  await page.getByLabel('A document of my own').check()
  await page.locator('#go').click()
  await page.locator('#problem', { hasText: 'Choose a file' }).waitFor()
  t.same(await found(page), [], 'with a document to choose, and a problem')

  const open = async (query: string, shown: string): Promise<void> => {
    await page.goto(`${url}/${query}`)
    await page.locator(shown).first().waitFor()
  }
  await open('?ask=music%2Fopera.pdf', '#only')
  t.same(await found(page), [], 'asking one source')
  await open('?view=sources', '#view table')
  t.same(await found(page), [], 'what is in here')
  await open('?view=sources&find=first+night', '#view .cards li')
  t.same(await found(page), [], 'passages that were found')
  await open('?source=music%2Fopera.pdf', '#view .cards li')
  await page.getByRole('button', { name: 'Delete this source' }).click()
  t.same(await found(page), [], 'a source that is about to be deleted')
  await open('?passage=opera%238&mark=43-57', '#view mark')
  t.same(await found(page), [], 'a passage')
  await open('?passage=gone', '#view section p')
  t.same(await found(page), [], 'a passage that is gone')
  await open('?view=manage', '#upload')
  await page.getByLabel('New snapshot').fill('monday')
  await page.getByRole('button', { name: 'Take it' }).click()
  await page.getByRole('button', { name: 'Restore monday' }).click()
  await page.getByRole('button', { name: 'Delete contracts' }).click()
  await unfoldAll(page)
  await page.locator('#files').setInputFiles([
    { name: 'note.md', mimeType: '', buffer: Buffer.from('# Note\n\nA text of a note.') },
    { name: 'floor.png', mimeType: '', buffer: Buffer.from('x') },
  ])
  await page.getByRole('button', { name: 'Add to passages' }).click()
  await page.locator('#view .cards', { hasText: 'Pictures are read by OCR only' }).waitFor()
  t.same(await found(page), [], 'managing')
  t.equal(await page.evaluate('document.getAnimations().length'), 0, 'nothing moves')
})

t.test('axe finds nothing where a key is asked for, and where nothing is in here', { skip: noBrowser }, async (t) => {
  const { url, services } = await library(t)
  const page = await (await openBrowser(t)).newPage()
  await page.goto(`${url}/?view=manage`)
  await page.getByLabel('Admin key').waitFor()
  t.same(await found(page), [], 'managing without a key')
  await page.route('**/v1/**', (route) => route.fulfill({ status: 401, json: { error: { code: 'unauthorized', message: 'No.' } } }))
  await page.goto(`${url}/`)
  await page.getByLabel('Enter the key that you were given').waitFor()
  await page.keyboard.type('wrong')
  await page.keyboard.press('Enter')
  await page.locator('#gate-problem', { hasText: 'not known here' }).waitFor()
  t.same(await found(page), [], 'a wrong key')
  await page.unroute('**/v1/**')
  await page.route('**/v1/info', async (route) => {
    const info = (await (await route.fetch()).json()) as object
    await route.fulfill({ json: { ...info, index: null } })
  })
  await page.goto(`${url}/`)
  await page.locator('#empty').waitFor()
  t.equal(await page.locator('#about').textContent(), 'No passages yet.')
  t.ok(await page.getByLabel('A document of my own').isChecked())
  t.ok(await page.locator('#browse').isHidden())
  t.same(await found(page), [], 'nothing in here')
  t.equal(await services.index.count(), 4)
})

t.test('a screen reader is told of the search, the answer and a problem; the keyboard reaches all', { skip: noBrowser }, async (t) => {
  const { url } = await library(t)
  const page = await (await openBrowser(t)).newPage()
  await page.goto(url)
  await page.getByText('4 passages').waitFor()
  await page.evaluate(
    `window.said = []; new MutationObserver(() => said.push(document.querySelector('[role=status]').textContent)).observe(document.querySelector('[role=status]'), { childList: true })`,
  )
  await page.keyboard.type('who composed aida')
  await page.keyboard.press('Enter')
  await answered(page)
  t.same(await page.evaluate('said'), [
    'Asking.',
    '4 passages were found and are being read.',
    (await page.locator('#status').textContent()) ?? '',
  ])
  t.match(await page.locator('#status').textContent(), /^Answer: Giuseppe Verdi\. confidence 0\.\d\d/)
  t.equal(await page.locator('#problem').getAttribute('role'), 'alert')
  const reached: string[] = []
  for (let i = 0; i < 30; i++) {
    await page.keyboard.press('Tab')
    reached.push(await page.evaluate<string>('document.activeElement.textContent.trim()'))
  }
  const order = [
    ...['Ask', 'Ask a follow-up', 'Copy answer', 'Copy link', '1. Opera guide answer from here', 'music/opera.pdf, page 3'],
    ...[
      'Open music/opera.pdf at page 3',
      'Link to passage',
      'Copy with source',
      '2. Opera guide',
      'Time and model',
      'Advanced',
      'Earlier questions',
    ],
    ...['Key', 'Manage'],
  ]
  const places = order.map((text) => reached.indexOf(text))
  t.ok(
    places.every((place, i) => place >= 0 && (i === 0 || place > (places[i - 1] ?? 0))),
    JSON.stringify(reached),
  )
  await page.locator('#passages summary').first().focus()
  await page.keyboard.press('Enter')
  t.equal(await page.locator('#passages details[open]').count(), 2, 'a passage is folded by the keyboard')
  t.not(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle'), 'none')
})
