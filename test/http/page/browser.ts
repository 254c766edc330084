import { existsSync } from 'node:fs'
import { chromium, type Browser } from 'playwright-core'
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
