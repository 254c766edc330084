import { existsSync } from 'node:fs'
import { chromium, type Browser } from 'playwright-core'
import type { Test } from 'tap'

const CHROMIUM = '/usr/bin/chromium'

/** Why the page is not tested here, or false. */
export const noBrowser = existsSync(CHROMIUM) ? false : `no ${CHROMIUM}: install Debian's chromium to test the page`

/** A headless browser to the end of the test. */
export async function openBrowser(t: Test): Promise<Browser> {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] })
  t.teardown(() => browser.close())
  return browser
}
