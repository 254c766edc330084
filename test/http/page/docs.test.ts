import t from 'tap'
import { testApp } from '../helpers.ts'
import { noBrowser, openBrowser } from './browser.ts'

t.test('the documentation may load its own files alone', async (t) => {
  const { app } = await testApp(t)
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  for (const url of ['/docs', '/docs/static/swagger-ui-bundle.js', '/docs/json']) {
    const { status, headers } = await fetch(address + url)
    t.equal(status, 200, url)
    const policy = headers.get('content-security-policy') ?? ''
    t.match(policy, /default-src 'none'; script-src 'self'; .*connect-src 'self'; .*frame-ancestors 'none'/, url)
    t.notMatch(policy, /unsafe|https?:|\*/, url)
  }
})

t.test('and works so: a route can be tried', { skip: noBrowser }, async (t) => {
  const { app } = await testApp(t)
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  const browser = await openBrowser(t)
  const page = await browser.newPage()
  const complaints: string[] = []
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(error.message))
  await page.goto(`${address}/docs`)
  await page.locator('.btn.authorize').click()
  const userKey = page.locator('.auth-container', { hasText: 'userKey' })
  await userKey.locator('input').fill('a key')
  await userKey.getByRole('button', { name: 'Apply credentials' }).click()
  await page.locator('.close-modal').click()
  const route = page.locator('.opblock', { hasText: '/healthz' })
  await route.locator('.opblock-summary-control').click()
  await route.getByRole('button', { name: 'Try it out' }).click()
  await route.getByRole('button', { name: 'Execute' }).click()
  await route.locator('.live-responses-table').getByText('"status": "ok"').waitFor()
  t.same(complaints, [])
})
