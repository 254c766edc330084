import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { openKeys } from '../../../src/keys/keys.ts'
import { addKey } from '../../../src/keys/store.ts'
import { testApp } from '../helpers.ts'
import { answered, noBrowser, openBrowser } from './browser.ts'

t.test('a service with keys: the page asks for one, and shows nothing of the corpus before', { skip: noBrowser }, async (t) => {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-page-keys-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  const key = await addKey(dir, { name: 'ann', role: 'user' })
  const keys = await openKeys({ dir, pollMs: 10 })
  t.teardown(() => keys.close())
  const { app } = await testApp(t, { keys }, { PAGE_TITLE: 'Handbook' })
  const page = await (await openBrowser(t)).newPage()
  await page.goto(`${await app.listen({ host: '127.0.0.1', port: 0 })}/?q=what+is+it`)
  await page.locator('#problem', { hasText: /key/i }).waitFor()
  await page.locator('#key').waitFor()
  t.equal(await page.locator('h1').textContent(), 'Handbook')
  t.equal(await page.locator('#about').textContent(), '')
  t.ok(await page.locator('#result').isHidden())
  await page.locator('#key').fill('not this one')
  await page.locator('#key').blur()
  await page.locator('#upload-problem', { hasText: /key/i }).waitFor()
  await page.locator('#key').fill(key)
  await page.locator('#key').blur()
  await page.getByText('6 passages').waitFor()
  t.ok(await page.locator('#problem').isHidden())
  await page.locator('#go').click()
  await answered(page)
  t.equal(await page.locator('#answer').textContent(), 'yes', 'the question of the link is still there')
})

t.test(
  'evidence with a file has a link to it, fetched with the key where there is one; to no other site',
  { skip: noBrowser },
  async (t) => {
    const { app } = await testApp(t)
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    const page = await (await openBrowser(t)).newPage()
    await page.route('**/v1/answer', async (route) => {
      const response = await route.fetch({ postData: JSON.stringify({ ...(route.request().postDataJSON() as object), stream: false }) })
      const body = (await response.json()) as { evidence: object[] }
      const files = ['v1/passages/p0/file', 'https://elsewhere.example/v1/x', 'javascript:alert(1)']
      await route.fulfill({ json: { ...body, evidence: body.evidence.map((one, i) => ({ ...one, file: files[i] })) } })
    })
    const seen: (string | undefined)[] = []
    await page.route('**/v1/passages/p0/file', async (route) => {
      seen.push(route.request().headers()['authorization'])
      if (seen.length > 1)
        await route.fulfill({ status: 404, json: { error: { code: 'not_found', message: 'The file is gone.', request_id: 'r' } } })
      else await route.fulfill({ contentType: 'application/pdf', body: '%PDF-1.4' })
    })
    await page.goto(`${url}/?q=what+is+it`)
    await answered(page)
    const link = page.getByRole('link', { name: 'Open the file' })
    t.equal(await link.count(), 1)
    t.equal(await link.getAttribute('href'), `${url}/v1/passages/p0/file`)
    await page.getByText('Key and corpus').click()
    await page.locator('#key').fill('a key')
    const [download] = await Promise.all([page.waitForEvent('download'), link.click()])
    t.equal(download.suggestedFilename(), 'file.pdf')
    await link.click()
    await page.locator('#problem', { hasText: 'The file is gone.' }).waitFor()
    t.same(seen, ['Bearer a key', 'Bearer a key'])
  },
)
