import t, { type Test } from 'tap'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buildApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import { citationsOf, passageAddress } from '../../src/http/routes/openai/citations.ts'
import { describeFiles } from '../../src/jobs/sources/summary.ts'
import type { Job, JobOptions } from '../../src/jobs/record/schema.ts'
import { makePdf } from '../fixtures/pdf.ts'
import { pageOf, sitemapOf, webSite, type Answer } from '../fixtures/web-site.ts'
import { recordingServices } from '../helpers/recording-services.ts'
import { servicesAround } from '../helpers/services.ts'
import { embed, tempDir } from '../index/helpers.ts'
import { embedderOf, linesOf, withJobs } from './helpers.ts'

/** A page that is sent once for each state of its text. */
function versioned(textOf: () => string): Answer {
  return (request, response) => {
    const etag = `"${textOf().length}"`
    if (request.headers['if-none-match'] === etag) return response.writeHead(304).end()
    const headers = { 'content-type': 'text/html', etag, 'last-modified': 'Mon, 05 Jan 2026 10:00:00 GMT' }
    return response.writeHead(200, headers).end(pageOf('Lamps', textOf()))
  }
}

async function crawling(t: Test, pages: Record<string, string | Answer>) {
  const dir = await tempDir(t)
  const site = await webSite(t, pages)
  const embedded: string[] = []
  const own = { embed: (texts: readonly string[]) => (embedded.push(...texts), embed(texts)) }
  const { index, jobs } = await withJobs(t, dir, {
    ...own,
    crawl: {
      userAgent: 'cepe-qa/0.0.0-test',
      limits: { delayMs: 0 },
      resolve: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
    },
  })
  const add = async (paths: readonly string[], options: JobOptions = {}): Promise<Job> => {
    embedded.length = 0
    const { id } = await jobs.addPages({ urls: paths.map((path) => site.url(path)), private: true }, options)
    return jobs.wait(id)
  }
  return { dir, site, index, jobs, add, embedded }
}

t.test('a sitemap becomes passages whose source is their address; a second run takes what changed', async (t) => {
  let text = 'The lamp on the mole burns from dusk until dawn.'
  const pages: Record<string, string | Answer> = {
    '/robots.txt': (_, response) => response.writeHead(200).end('User-agent: *\nDisallow: /secret\n'),
    '/lamps': versioned(() => text),
    '/bells.html': pageOf('Bells', 'The bell rings in fog.'),
    '/dues.pdf': (_, response) =>
      response.writeHead(200, { 'content-type': 'application/pdf' }).end(makePdf([['# Dues', 'Dues are paid by day.']])),
    '/latin': (_, response) =>
      response.writeHead(200, { 'content-type': 'text/plain; charset=iso-8859-1' }).end(Buffer.from('K\u00f6ln is far.', 'latin1')),
  }
  const { site, index, jobs, add, embedded } = await crawling(t, pages)
  const listed = ['/lamps', '/bells.html', '/dues.pdf', '/latin', '/secret', '/gone']
  pages['/sitemap.xml'] = sitemapOf(listed.map((path) => site.url(path)))
  const first = await add(['/sitemap.xml'])
  t.match(first, { version: 1, state: 'done', source: { path: null, name: site.url('/sitemap.xml') }, files: { indexed: 4 } })
  t.equal(
    describeFiles(first.files ?? { indexed: 0, left_out: [] }),
    '4 files indexed; 2 left out: 1 page (not found), 1 page (disallowed by robots.txt)',
  )
  const report = (await linesOf(await jobs.report(first.id))).join('\n')
  t.match(report, new RegExp(`${site.url('/secret')}.*robots`))
  const [lamps] = await index.list({ filter: { source: [site.url('/lamps')] }, limit: 5 })
  t.match(lamps, {
    id: new RegExp(`^${site.url('/lamps')}#`),
    title: 'Lamps',
    text,
    metadata: { kind: 'html', modified: '2026-01-05T10:00:00.000Z', position: 1 },
  })
  t.match(await index.list({ filter: { source: [site.url('/dues.pdf')] }, limit: 5 }), [{ title: 'Dues', metadata: { page: 1 } }])
  t.match(await index.list({ filter: { source: [site.url('/latin')] }, limit: 5 }), [{ title: 'latin', text: 'K\u00f6ln is far.' }])
  const cited = { answer: 'dusk', evidence: [{ ...lamps, role: 'encoder', attention: 1, highlights: [] }] } as unknown as Parameters<
    typeof citationsOf
  >[0]
  const request = { protocol: 'http', host: 'qa.example', socket: {} } as unknown as Parameters<typeof passageAddress>[0]
  const addressOf = passageAddress(request, { BASE_PATH: '', PUBLIC_URL: '' }, false)
  t.match(citationsOf(cited, addressOf), [{ url: site.url('/lamps') }], 'citations lead to the page')

  const second = await add(['/sitemap.xml'])
  t.match(second, { state: 'done', files: { indexed: 4 }, counters: { accepted: 4, embedded: 0, skipped: 4 } })
  t.match(site.headers('/lamps'), { 'if-none-match': /^"\d+"$/ })
  t.match(await add(['/sitemap.xml']), { counters: { skipped: 4 } }, 'what is known of a page lasts')
  text += ' A second lamp was lit.'
  t.match(await add(['/sitemap.xml']), { counters: { accepted: 4, embedded: 1, skipped: 3 } })
  t.match(
    embedded.filter((one) => one.startsWith('Lamps')),
    [/second lamp/],
  )
  t.equal(await index.count(), 4, 'the passage that the page no longer has is gone')
  await add(['/lamps'], { split_words: 20 })
  t.notOk(site.headers('/lamps')?.['if-none-match'], 'cut otherwise, the page is needed')
  await index.delete({ source: [site.url('/lamps')] })
  t.match(await add(['/lamps'], { split_words: 20 }), { counters: { embedded: 1 } }, 'so it is where its passages were deleted')
})

t.test('delete_missing drops no page whose address a damaged list of pages no longer names', async (t) => {
  const pages: Record<string, string | Answer> = {
    '/old': (_, response) => response.writeHead(302, { location: '/new' }).end(),
    '/new': pageOf('Lamps', 'The lamp burns.'),
    '/other': pageOf('Bells', 'The bell rings.'),
  }
  const { dir, site, index, add } = await crawling(t, pages)
  pages['/sitemap.xml'] = sitemapOf(['/old', '/other'].map((path) => site.url(path)))
  const first = await add(['/sitemap.xml'])
  t.match(first, { state: 'done', files: { indexed: 2 } })
  const list = join(dir, 'index', 'jobs', first.id, 'fetched.json')
  const whole = await readFile(list, 'utf8')
  pages['/old'] = (_, response) => response.writeHead(403).end()
  for (const damaged of ['', whole.slice(0, 40), whole.replaceAll('"asked"', '"askeX"'), whole.replace('/new"', '/nev"'), '{}']) {
    await writeFile(list, damaged)
    const message = `${list}, which lists the pages that a job fetched, is damaged: put its copy back, or index once without delete_missing and remove it.`
    t.match(await add(['/sitemap.xml'], { delete_missing: true }), { error: { code: 'store_unavailable', message } }, damaged)
    t.equal(await index.count({ source: [site.url('/new')] }), 1)
  }
  await writeFile(list, whole)
  t.match(await add(['/sitemap.xml'], { delete_missing: true }), { state: 'done', files: { gone: { files: 0 } } })
  t.equal(await index.count({ source: [site.url('/new')] }), 1, 'by the copy')
  await writeFile(list, JSON.stringify((JSON.parse(whole) as { list: unknown }).list))
  t.match(
    await add(['/sitemap.xml'], { delete_missing: true }),
    { state: 'done', files: { gone: { files: 0 } } },
    'by one of earlier software',
  )
  pages['/old'] = (_, response) => response.writeHead(302, { location: '/new' }).end()
  await writeFile(list, '')
  t.match(await add(['/sitemap.xml']), { state: 'done' })
  await rm(list)
  t.match(await add(['/sitemap.xml'], { delete_missing: true }), { state: 'done', files: { gone: { files: 0 } } }, 'and without one')
})

t.test('delete_missing drops pages that a sitemap no longer lists, and those that are gone', async (t) => {
  const pages: Record<string, string | Answer> = Object.fromEntries(
    ['/a', '/b', '/c', '/d'].map((path) => [path, pageOf(path, `The page ${path} says this.`)]),
  )
  const { site, index, add } = await crawling(t, pages)
  const list = (...paths: string[]) => (pages['/sitemap.xml'] = sitemapOf(paths.map((path) => site.url(path))))
  const sources = async () => (await index.sources()).map(({ source }) => new URL(source).pathname).sort()
  list('/a', '/b', '/c', '/d')
  await add(['/sitemap.xml'])
  pages['/sitemap.xml'] = (_, response) => response.writeHead(500).end()
  t.match(await add(['/sitemap.xml', '/a'], { delete_missing: true }), { state: 'done', files: { gone: { files: 0 } } }, 'another order')
  pages['/a'] = (_, response) => response.writeHead(503).end()
  delete pages['/c']
  list('/a', '/b', '/c')
  t.match(await add(['/sitemap.xml'], { delete_missing: true }), { state: 'done', files: { indexed: 1, gone: { files: 2, passages: 2 } } })
  t.same(await sources(), ['/a', '/b'], 'a page that cannot be had now keeps its passages')
  pages['/sitemap.xml'] = (_, response) => response.writeHead(500).end()
  t.match(await add(['/sitemap.xml'], { delete_missing: true }), { state: 'failed' })
  t.same(await sources(), ['/a', '/b'], 'a sitemap that cannot be had says nothing of them')
  await t.rejects(add(['/b'], { label: 'x' }), { code: 'invalid_request', field: 'label' })
  await t.rejects(add([]), { code: 'invalid_request', field: 'urls' })
})

t.test('over HTTP: off, then for listed hosts, and never for private addresses', async (t) => {
  const KEY = 'a-key-for-tests-only'
  const { dir, site, index, jobs } = await crawling(t, { '/a': pageOf('A', 'secret') })
  const served = async (env: NodeJS.ProcessEnv) => {
    const services = await servicesAround(t, recordingServices().services, { index, jobs, embedder: embedderOf() })
    const app = await buildApp(services, loadConfig({ LOG_LEVEL: 'silent', ADMIN_KEY: KEY, KEYS_DIR: dir }, env), '0.0.0-test')
    t.teardown(() => app.close())
    return async (body: object) => {
      const headers = { authorization: `Bearer ${KEY}`, host: 'localhost' }
      const response = await app.inject({ method: 'POST', url: '/v1/admin/index-jobs', headers, payload: body })
      return { status: response.statusCode, body: response.json<Record<string, unknown>>() }
    }
  }
  const off = await served({})
  t.match(await off({ urls: [site.url('/a')] }), { status: 403, body: { error: { code: 'forbidden', message: /CEPE_FETCH/ } } })
  const host = `intra.example:${site.port}`
  const order = await served({ CEPE_FETCH: `docs.example.org, ${host}` })
  for (const url of ['https://example.org/', 'https://docs.example.org:8443/', site.url('/a'), 'https://docs.example.org.evil.example/'])
    t.match(await order({ urls: [url] }), { status: 403, body: { error: { code: 'forbidden', message: /CEPE_FETCH/ } } }, url)
  for (const url of ['file:///etc/passwd', 'https://me:secret@docs.example.org/', 'docs'])
    t.match(await order({ urls: [url] }), { status: 400, body: { error: { code: 'invalid_request' } } }, url)
  for (const body of [{}, { source: 'a', urls: [site.url('/a')] }])
    t.match(await order(body), { status: 400, body: { error: { code: 'invalid_request' } } })
  t.match(await order({ urls: [`http://${host}/a`], columns: 'text=a' }), { status: 400, body: { error: { field: 'columns' } } })
  const { status, body } = await order({ urls: [`http://${host}/a`], strict: true })
  t.equal(status, 202)
  const job = await jobs.wait(String(body['id']))
  t.match(job, { state: 'failed', source: { files: { web: { hosts: ['docs.example.org', host] } } } })
  t.same(site.requests, [])
  t.throws(() => loadConfig({}, { CEPE_FETCH: 'https://docs.example.org' }), { code: 'config_invalid' })
})
