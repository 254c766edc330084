import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import t from 'tap'
import { testApp } from '../helpers.ts'
import { answered, noBrowser, openBrowser, unfoldAll } from './browser.ts'
import { saidServices } from './said-services.ts'

const PASSAGES = [
  { id: '1', title: 'Canberra', text: 'Canberra is the capital.', source: 'https://example.org/canberra' },
  { id: '2', title: 'Sydney', text: 'Sydney is larger.', source: 'handbook/sydney.pdf' },
]
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

/** Violations of the rules of axe, each with the elements that it is of. */
async function violations(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(
    `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`,
  )
}

for (const colorScheme of ['light', 'dark'] as const)
  for (const [device, viewport] of [
    ['a desktop', { width: 1280, height: 900 }],
    ['a phone', { width: 390, height: 844 }],
  ] as const)
    t.test(`axe finds nothing on ${device}, ${colorScheme}`, { skip: noBrowser, timeout: 120_000 }, async (t) => {
      const { app } = await testApp(t, { answering: saidServices('canberra', PASSAGES) }, { PAGE_QUESTIONS: 'One?; Two?' })
      const context = await (await openBrowser(t)).newContext({ colorScheme, viewport, reducedMotion: 'reduce' })
      const page = await context.newPage()
      await page.goto(await app.listen({ host: '127.0.0.1', port: 0 }))
      await page.locator('#examples button').first().waitFor()
      await page.evaluate(await readFile(AXE, 'utf8'))
      t.same(await violations(page), [], 'as it is opened')

      await page.locator('#examples button').first().click()
      await answered(page)
      t.same(await violations(page), [], 'with an answer')
      await unfoldAll(page)
      t.same(await violations(page), [], 'with everything unfolded')

      await page.locator('[name=min_confidence]').fill('1')
      await page.locator('#go').click()
      await page.locator('#answer', { hasText: 'No confident answer' }).waitFor()
      await answered(page)
      t.same(await violations(page), [], 'with an answer that is withheld')

      await page.getByLabel('A document of my own').check()
      await page.locator('#go').click()
      await page.locator('#problem', { hasText: 'Choose a file' }).waitFor()
      t.same(await violations(page), [], 'with a document to choose, and a problem')
      t.equal(await page.evaluate('document.getAnimations().length'), 0, 'nothing moves')
    })

t.test('a screen reader is told of the search, the answer and a problem; the keyboard reaches all', { skip: noBrowser }, async (t) => {
  const { app } = await testApp(t, { answering: saidServices('canberra', PASSAGES) })
  const page = await (await openBrowser(t)).newPage()
  await page.goto(await app.listen({ host: '127.0.0.1', port: 0 }))
  await page.getByText('2 passages').waitFor()
  await page.evaluate(
    `window.said = []; new MutationObserver(() => said.push(document.querySelector('[role=status]').textContent)).observe(document.querySelector('[role=status]'), { childList: true })`,
  )
  await page.keyboard.type('what is the capital')
  await page.keyboard.press('Enter')
  await answered(page)
  t.same(await page.evaluate('said'), [
    'Asking.',
    '2 passages were found and are being read.',
    (await page.locator('#status').textContent()) ?? '',
  ])
  t.match(await page.locator('#status').textContent(), /^Answer: Canberra\. confidence 0\.\d\d/)
  t.equal(await page.locator('#problem').getAttribute('role'), 'alert')
  const reached: string[] = []
  for (let i = 0; i < 12; i++) {
    await page.keyboard.press('Tab')
    reached.push(await page.evaluate<string>('document.activeElement.textContent.trim()'))
  }
  for (const text of [
    'Ask',
    'Copy answer',
    'Copy link',
    '1. Canberra',
    'https://example.org/canberra',
    '2. Sydney',
    'Time and model',
    'Advanced',
  ])
    t.ok(reached.includes(text), text)
  await page.locator('#passages summary').first().focus()
  await page.keyboard.press('Enter')
  t.equal(await page.locator('#passages details[open]').count(), 1, 'a passage is folded by the keyboard')
  t.not(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle'), 'none')
})
