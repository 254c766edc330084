import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { chromium, type Browser, type Page } from 'playwright-core'
import tap, { type Test } from 'tap'
import { SKIPS } from '../../helpers/skips.ts'

const CHROMIUM = '/usr/bin/chromium'
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

/** Why the page is not tested here, or false. */
export const noBrowser = existsSync(CHROMIUM) ? false : `${SKIPS.browser}: install Debian's chromium (${CHROMIUM})`

/** Longest wait for anything of a page, which a busy machine keeps waiting longer than playwright's 30 s. */
const WAIT_MS = 180_000

let launched: Promise<Browser> | undefined

/** A headless browser with storage of its own, to the end of the test. */
export async function openBrowser(t: Test, context: object = {}) {
  if (launched === undefined) {
    const starting = chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'], timeout: WAIT_MS })
    launched = starting
    tap.teardown(async () => (await starting).close())
  }
  const opened = await (await launched).newContext({ reducedMotion: 'reduce', ...context })
  opened.setDefaultTimeout(WAIT_MS)
  t.teardown(() => opened.close())
  return opened
}

/** Waits until the page shows a whole answer. */
export async function answered(page: Page): Promise<void> {
  await page.locator('#result:not([aria-busy]) #facts').waitFor()
}

/** Which of the passages on the page are open, from 0. */
export async function openPassages(page: Page): Promise<number[]> {
  return page.evaluate<number[]>("[...document.querySelectorAll('#passages details')].flatMap((one, i) => (one.open ? [i] : []))")
}

/** Opens all that is folded away on the page. */
export async function unfoldAll(page: Page): Promise<void> {
  await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
}

/** Collects what the page throws or logs as an error. */
export function complaintsOf(page: Page): string[] {
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
  return complaints
}

/** Violations of the rules of axe, each with the elements that it is of. @param rules only these */
export async function violations(page: Page, rules?: readonly string[]): Promise<string[]> {
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(await readFile(AXE, 'utf8'))
  const options = rules === undefined ? {} : { runOnly: { type: 'rule', values: rules } }
  return page.evaluate<string[]>(
    `axe.run(${JSON.stringify(options)}).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`,
  )
}
