import { existsSync } from 'node:fs'
import { chromium, type Browser, type Page } from 'playwright-core'
import type { Test } from 'tap'
import { SKIPS } from '../../helpers/skips.ts'

const CHROMIUM = '/usr/bin/chromium'

/** Why the page is not tested here, or false. */
export const noBrowser = existsSync(CHROMIUM) ? false : `${SKIPS.browser}: install Debian's chromium (${CHROMIUM})`

/** A headless browser to the end of the test. */
export async function openBrowser(t: Test): Promise<Browser> {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] })
  t.teardown(() => browser.close())
  return browser
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
