import { once } from 'node:events'
import { get } from 'node:http'
import t, { type Test } from 'tap'
import { loadConfig } from '../../../src/config.ts'
import { prefixProxy } from '../../helpers/prefix-proxy.ts'
import { recordingServices } from '../../helpers/recording-services.ts'
import { speakingReader, testApp } from '../helpers.ts'
import { answered, noBrowser, openBrowser } from '../page/browser.ts'

const PREFIX = '/tools/qa'
const WORDS = ['the', ' black', ' sea']

/** A service that has a base path, and a proxy that hands it on, or takes it off. */
async function proxied(t: Test, { keeps, basePath = PREFIX }: { keeps: boolean; basePath?: string }) {
  const speaking = speakingReader(WORDS)
  const { services } = recordingServices()
  const { app } = await testApp(
    t,
    { answering: { ...services, reader: { ...services.reader, answer: speaking.answer } } },
    { BASE_PATH: basePath, ADMIN_KEY: 'an-admin-key-of-a-test' },
  )
  const target = await app.listen({ host: '127.0.0.1', port: 0 })
  return { ...(await prefixProxy(t, { target, prefix: PREFIX, keeps })), target, words: speaking.held }
}

for (const keeps of [true, false]) {
  const proxy = keeps ? 'a proxy that hands the prefix on' : 'a proxy that takes the prefix off'

  t.test(`${proxy}: documentation, routes and addresses`, async (t) => {
    const { url, target, strays } = await proxied(t, { keeps })
    const info = await fetch(`${url}/v1/info`)
    t.equal(info.status, 200)
    t.equal((await fetch(`${target}/v1/info`)).status, 200, 'the service itself answers as before')
    t.equal((await fetch(`${url}x/v1/info`)).status, 404)
    const { servers } = (await (await fetch(`${url}/docs/json`)).json()) as { servers: unknown }
    t.same(servers, [{ url: PREFIX }])
    const docs = await (await fetch(`${url}/docs`)).text()
    const assets = [...docs.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, asset = '']) => new URL(asset, `${url}/docs`))
    t.ok(assets.length > 3)
    for (const asset of assets) t.equal((await fetch(asset)).status, 200, asset.pathname)
    t.same(strays, [`${PREFIX}x/v1/info`])
  })

  t.test(`${proxy}: the page asks there, and words come as they are said`, { skip: noBrowser }, async (t) => {
    const { url, strays, words } = await proxied(t, { keeps })
    const page = await (await openBrowser(t)).newPage()
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    await page.goto(`${url}/`)
    await page.getByText('6 passages').waitFor()
    await page.locator('#question').fill('what is it')
    await page.keyboard.press('Enter')
    for (const [i, shown] of ['…', 'the …', 'the black …', 'the black sea'].entries()) {
      await page.locator('#answer').getByText(shown, { exact: true }).waitFor()
      while (words.length < Math.min(i + 1, WORDS.length)) await new Promise((resolve) => setTimeout(resolve, 5))
      words[i]?.go()
    }
    await answered(page)
    t.same(strays, [])
    t.same(
      asked.filter((one) => !one.startsWith(`${url}/`) && !one.startsWith('data:')),
      [],
    )
  })
}

t.test('the page works behind a proxy that takes a prefix off, without a setting', { skip: noBrowser }, async (t) => {
  const { url, strays } = await proxied(t, { keeps: false, basePath: '' })
  const page = await (await openBrowser(t)).newPage()
  await page.goto(`${url}/`)
  await page.getByText('6 passages').waitFor()
  t.same(strays, [])
})

t.test('the base path itself leads to the page, which needs the slash at its end', async (t) => {
  const { url } = await proxied(t, { keeps: true })
  for (const query of ['', '?passage=a%2F1&mark=0-4', '?q=really?']) {
    const asked = get(`${url}${query}`)
    const [answer] = (await once(asked, 'response')) as [{ statusCode: number; headers: Record<string, string> }]
    asked.destroy()
    t.match(answer, { statusCode: 308, headers: { location: `${PREFIX}/${query}` } }, 'with what is asked')
  }
})

t.test('a base path that is none is refused', (t) => {
  for (const path of ['qa', '/qa/', '/', '/v1', '/docs/x', '/a/../b', '/a b', '//x'])
    t.throws(() => loadConfig({}, { CEPE_BASE_PATH: path }), { code: 'config_invalid', message: /CEPE_BASE_PATH must be a path/ }, path)
  for (const path of ['/qa', '/tools/qa', '/v1x']) t.equal(loadConfig({}, { CEPE_BASE_PATH: path }).BASE_PATH, path)
  t.end()
})
