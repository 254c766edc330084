import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { openKeys } from '../../../src/keys/keys.ts'
import { addKey, revokeKey } from '../../../src/keys/store.ts'
import { until } from '../../helpers/until.ts'
import { testApp } from '../helpers.ts'
import { answered, noBrowser, openBrowser } from './browser.ts'
import { library } from './library.ts'

async function keysOf(t: Test) {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-page-keys-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  const key = await addKey(dir, { name: 'ann', role: 'user' })
  const root = await addKey(dir, { name: 'root', role: 'admin' })
  const keys = await openKeys({ dir, pollMs: 10 })
  t.teardown(() => keys.close())
  return { dir, key, root, keys }
}

t.test('a service with keys: the page asks for one, shows nothing before, and keeps the question', { skip: noBrowser }, async (t) => {
  const { dir, key, keys } = await keysOf(t)
  const { app } = await testApp(t, { keys }, { PAGE_TITLE: 'Handbook' })
  const page = await (await openBrowser(t)).newPage()
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  await page.goto(`${url}/?q=what+is+it`)
  const gate = page.getByLabel('Enter the key that you were given')
  await gate.waitFor()
  const field = page.locator('#gate-key:focus')
  await field.waitFor()
  t.equal(await page.locator('h1').textContent(), 'Handbook')
  t.equal(await page.locator('#about').textContent(), '')
  t.equal(await page.locator('.problem:visible').count(), 0, 'nothing is red before anything was entered')
  for (const id of ['#asking', 'aside', '#result', '#browse']) t.ok(await page.locator(id).isHidden(), id)
  await page.keyboard.type('not this one')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('This key is not known here. Check it, or ask whoever gave it to you.').waitFor()
  t.equal(await gate.inputValue(), '')
  await field.waitFor()
  await page.keyboard.type(key)
  await page.keyboard.press('Enter')
  await answered(page)
  t.equal(await page.locator('#answer').textContent(), 'yes', 'the question of the link is asked')
  await page.locator('#about', { hasText: '6 passages' }).waitFor()
  t.ok(await gate.isHidden())
  await page.reload()
  await answered(page)

  await revokeKey(dir, 'ann')
  const models = () => fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })
  await until(async () => (await models()).status === 401)
  await page.locator('#question').fill('another')
  await page.locator('#go').click()
  await page.getByText('This key is not known here.').waitFor()
  t.equal(await page.locator('#question').inputValue(), 'another')
})

t.test("a user's key asks and reads; what changes the index asks for an admin's", { skip: noBrowser }, async (t) => {
  const { key, root, keys } = await keysOf(t)
  const { url } = await library(t, { keys })
  const page = await (await openBrowser(t)).newPage()
  await page.goto(`${url}/?source=music/opera.pdf`)
  await page.getByLabel('Enter the key that you were given').fill(key)
  await page.keyboard.press('Enter')
  await page.locator('#view .cards li').first().waitFor()
  t.equal(await page.getByRole('button', { name: 'Delete this source' }).count(), 0)
  // Nothing leads where the key may not go, once its role is known.
  await page.locator('#to-manage').waitFor({ state: 'hidden' })
  await page.goto(`${url}/?view=manage`)
  await page.getByText('Your key may ask questions. Changing what is in here needs an admin key.').waitFor()
  await page.getByLabel('Admin key').fill('a guess')
  await page.keyboard.press('Enter')
  await page.getByText('This key is not known here.').waitFor()
  t.ok(await page.locator('#gate').isHidden(), 'a wrong admin key does not close the page')
  await page.getByLabel('Admin key').fill(root)
  await page.keyboard.press('Enter')
  await page.locator('#upload').waitFor()
  await page.locator('.rows li', { hasText: 'ann' }).getByText('asks; 0 questions today').waitFor()
  await page.locator('aside summary', { hasText: 'Key' }).click()
  await page.getByRole('button', { name: 'Forget the key' }).click()
  await page.getByLabel('Enter the key that you were given').waitFor()
})

t.test('a file is opened with the key where there is one; to no other site', { skip: noBrowser }, async (t) => {
  const { app } = await testApp(t)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const context = await openBrowser(t)
  const page = await context.newPage()
  await page.route('**/v1/answer', async (route) => {
    const response = await route.fetch({ postData: JSON.stringify({ ...(route.request().postDataJSON() as object), stream: false }) })
    const body = (await response.json()) as { evidence: object[] }
    const files = ['v1/passages/p0/file', 'https://elsewhere.example/v1/x', 'javascript:alert(1)']
    await route.fulfill({ json: { ...body, evidence: body.evidence.map((one, i) => ({ ...one, file: files[i] })) } })
  })
  const seen: (string | undefined)[] = []
  const files = [
    { contentType: 'text/plain; charset=utf-8', body: 'a note' },
    { contentType: 'text/html', body: '<script>document.title = "run"</script>' },
    { status: 404, json: { error: { code: 'not_found', message: 'The file is gone.', request_id: 'r' } } },
  ]
  await page.route('**/v1/passages/p0/file', async (route) => {
    seen.push(route.request().headers()['authorization'])
    await route.fulfill(files[seen.length - 1] ?? {})
  })
  await page.goto(`${url}/?q=what+is+it`)
  await answered(page)
  const link = page.getByRole('link', { name: 'Open the file' })
  t.equal(await link.count(), 1)
  t.equal(await link.getAttribute('href'), `${url}/v1/passages/p0/file`)
  await page.locator('aside summary', { hasText: 'Key' }).click()
  await page.locator('#key').fill('a key')
  await page.locator('#key').blur()
  const [tab] = await Promise.all([context.waitForEvent('page'), link.click()])
  await tab.waitForURL(/^blob:/)
  t.equal(await tab.locator('body').innerText(), 'a note')
  await tab.close()
  const [download] = await Promise.all([page.waitForEvent('download'), link.click()])
  t.match(download.suggestedFilename(), /^file/, 'what could run is saved')
  await link.click()
  await page.locator('#passages output', { hasText: 'The file is gone.' }).waitFor()
  t.same(seen, ['Bearer a key', 'Bearer a key', 'Bearer a key'])
})
