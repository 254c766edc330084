import t, { type Test } from 'tap'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import type { CrawlLimits, CrawlOptions } from '../../src/crawl/contract.ts'
import { crawl } from '../../src/crawl/crawl.ts'
import { pageOf, sitemapOf, webSite, type Answer } from '../fixtures/web-site.ts'

interface Own extends Partial<Omit<CrawlOptions, 'limits'>> {
  readonly limits?: Partial<CrawlLimits>
}

/** What a crawl finds of addresses on this machine: the texts of pages, and the reasons of those that are left out. */
async function found(addresses: readonly string[], { limits, ...own }: Own = {}) {
  const pages = new Map<string, string>()
  const leftOut: Record<string, string> = {}
  const details: Record<string, string> = {}
  const unchanged: string[] = []
  const options: CrawlOptions = {
    rules: { named: addresses, allowPrivate: true },
    userAgent: 'cepe-qa/0.0.0-test',
    signal: new AbortController().signal,
    limits: { delayMs: 0, responseMs: 20_000, ...limits },
    ...own,
  }
  await crawl(addresses, options, {
    page: async ({ url, body }) => {
      const read: Buffer[] = []
      for await (const chunk of body) read.push(chunk)
      pages.set(url, Buffer.concat(read).toString())
    },
    unchanged: ({ url }) => unchanged.push(url),
    leftOut: ({ url, problem, detail }) => {
      leftOut[url] = problem
      details[url] = detail
    },
  })
  return { pages, leftOut, details, unchanged }
}

/** What is answered with a body of a type. */
function sending(body: string | Buffer, headers: Record<string, string | number> = {}): Answer {
  return (_, response) => response.writeHead(200, { 'content-type': 'text/html', ...headers }).end(body)
}

function redirect(to: string, status = 302): Answer {
  return (_, response) => response.writeHead(status, { location: to }).end()
}

t.test('pages, sitemaps and indexes of sitemaps; what is disallowed or no page is named', async (t: Test) => {
  const pages: Record<string, string | Answer> = {
    '/robots.txt': sending('User-agent: *\nDisallow: /\n\nUser-agent: CEPE-QA\nDisallow: /private\nAllow: /private/open$\n', {
      'content-type': 'text/plain',
    }),
    '/a': pageOf('A', 'one'),
    '/b.md': sending('# B', { 'content-type': 'text/markdown; charset=utf-8' }),
    '/private/x': 'secret',
    '/private/open': pageOf('Open', 'open'),
    '/image': sending('GIF89a', { 'content-type': 'image/gif' }),
    '/feed.xml': '<rss><channel/></rss>',
    '/moved': redirect('/a#part', 301),
  }
  const site = await webSite(t, pages)
  const listed = ['/a', '/b.md', '/private/x', '/private/open', '/image', '/gone', '/moved', '/feed.xml'].map((path) => site.url(path))
  pages['/sitemap.xml'] = sitemapOf([...listed, 'https://example.org/other', 'ftp://example.org/', 'http://me:pw@127.0.0.1/'])
  pages['/index.xml'] =
    `<x:sitemapindex xmlns:x="s"><x:sitemap><x:loc>${site.url('/sitemap.xml')}</x:loc></x:sitemap>` +
    `<x:sitemap><x:loc>\n${site.url('/more.xml.gz')}\n</x:loc></x:sitemap><x:sitemap><x:loc>${site.url('/index2.xml')}</x:loc></x:sitemap></x:sitemapindex>`
  pages['/index2.xml'] = '<sitemapindex/>'
  pages['/more.xml.gz'] = sending(gzipSync(sitemapOf([site.url('/a'), site.url('/c?x=1&amp;y=2')])), { 'content-type': 'application/gzip' })
  pages['/c?x=1&y=2'] = pageOf('C', 'three')
  const { pages: taken, leftOut, details } = await found([site.url('/index.xml')])
  t.same(
    [...taken.keys()].sort(),
    ['/a', '/b.md', '/c?x=1&y=2', '/private/open'].map((path) => site.url(path)),
  )
  t.same(leftOut, {
    [site.url('/private/x')]: 'robots',
    [site.url('/image')]: 'not_supported',
    [site.url('/gone')]: 'not_found',
    [site.url('/feed.xml')]: 'not_supported',
    [site.url('/index2.xml')]: 'not_supported',
    'https://example.org/other': 'not_allowed',
    'ftp://example.org/': 'not_allowed',
    'http://me:pw@127.0.0.1/': 'not_allowed',
  })
  t.notMatch(Object.values(details).join(), /pw/, 'passwords are not repeated')
  t.equal(site.headers('/a')?.['user-agent'], 'cepe-qa/0.0.0-test')
  t.equal(site.requests.filter((one) => one === 'GET /a').length, 2, 'once by its own address and once by the one that leads there')
  t.equal(site.requests.filter((one) => one === 'GET /robots.txt').length, 1)
  t.notOk(site.requests.includes('GET /private/x'))
})

t.test('a robots.txt that cannot be had disallows all, one that is missing nothing', async (t) => {
  const broken = await webSite(t, { '/robots.txt': (_, response) => response.writeHead(503).end(), '/a': pageOf('A', 'one') })
  t.same((await found([broken.url('/a')])).leftOut, { [broken.url('/a')]: 'robots' })
  t.same(broken.requests, ['GET /robots.txt'])
  const cut = await webSite(t, { '/robots.txt': (_, response) => response.destroy(), '/a': pageOf('A', 'one') })
  t.same((await found([cut.url('/a')])).leftOut, { [cut.url('/a')]: 'unreachable' })
})

t.test('no address inside is reached: by number, by name, by a name that changes, by a redirect', async (t) => {
  const site = await webSite(t, {
    '/a': pageOf('A', 'secret'),
    '/out': redirect('http://169.254.169.254/latest/meta-data'),
    '/mapped': redirect('http://[::ffff:169.254.169.254]/'),
  })
  const guarded = (url: string, own: Own = {}) => found([url], { rules: { named: [url], allowPrivate: false }, ...own })
  for (const host of ['127.0.0.1', '0x7f.1', '[::ffff:127.0.0.1]', '[64:ff9b::7f00:1]', '0.0.0.0', '[::1]', '169.254.1.1'])
    t.same(Object.values((await guarded(site.url('/a', host))).leftOut), ['private_address'], host)
  let asked = 0
  const rebinding = {
    resolve: () => {
      asked++
      return Promise.resolve([
        { address: '93.184.216.34', family: 4 },
        { address: '127.0.0.1', family: 4 },
      ])
    },
  }
  const { leftOut, details } = await guarded(site.url('/a', 'intra.example'), rebinding)
  t.same(Object.values(leftOut), ['private_address'])
  t.match(Object.values(details), [/intra\.example leads to 127\.0\.0\.1.*--allow-private/])
  t.equal(asked, 1, 'a connection asks once, and goes where that led')
  t.same(site.requests, [], 'nothing reached the server')

  const resolve = () => Promise.resolve([{ address: '127.0.0.1', family: 4 }])
  const open = await found([site.url('/a', 'intra.example')], { resolve })
  t.equal(open.pages.size, 1, 'where private addresses are allowed')
  for (const path of ['/out', '/mapped'])
    t.match((await found([site.url(path)])).leftOut, { [site.url(path)]: /private_address|not_allowed/ }, 'link-local is never allowed')
})

t.test('redirects: bounded, not in a circle, not to other schemes, ports or hosts that are not listed', async (t) => {
  const site = await webSite(t, {
    '/circle': redirect('/circle2'),
    '/circle2': redirect('/circle'),
    '/file': redirect('file:///etc/passwd'),
    '/port': redirect('http://127.0.0.1:1/'),
    '/none': (_, response) => response.writeHead(302).end(),
    '/host': redirect('http://localhost/'),
    ...Object.fromEntries(Array.from({ length: 7 }, (_, i) => [`/hop${i}`, redirect(`/hop${i + 1}`)])),
    '/hop7': pageOf('End', 'end'),
  })
  const asked = ['/circle', '/file', '/port', '/none', '/hop1', '/hop2'].map((path) => site.url(path))
  const { leftOut, pages } = await found(asked)
  t.same(Object.values(leftOut).sort(), ['not_allowed', 'not_allowed', 'redirect', 'redirect', 'redirect'])
  t.same([...pages.keys()], [site.url('/hop7')], 'five are followed')
  const rules = { hosts: [`127.0.0.1:${site.port}`], named: [], allowPrivate: true }
  t.same((await found([site.url('/host'), 'https://example.org/'], { rules })).leftOut, {
    [site.url('/host')]: 'not_allowed',
    'https://example.org/': 'not_allowed',
  })
})

t.test('what a server may do to a reader is bounded', async (t) => {
  const bomb = gzipSync(Buffer.alloc(40 * 2 ** 20, 'a'))
  const site = await webSite(t, {
    '/long': sending('x', { 'content-length': 2 ** 40 }),
    '/short': (_, response) => {
      response.writeHead(200, { 'content-type': 'text/html', 'content-length': 1000 }).write('<p>half')
      setTimeout(() => response.destroy(), 50)
    },
    '/more': (request) => request.socket.end('HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 4\r\n\r\n<p>abcdefgh'),
    '/large': sending(Buffer.alloc(3 * 2 ** 20, 'a')),
    '/trickle': (_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' })
      const timer = setInterval(() => response.write('a'), 50)
      response.on('close', () => clearInterval(timer))
    },
    '/silent': () => undefined,
    '/headers': (_, response) => response.writeHead(200, { 'content-type': 'text/html', more: 'x'.repeat(20_000) }).end('a'),
    '/bomb': sending(bomb, { 'content-encoding': 'gzip' }),
    '/broken': sending(gzipSync('abc'.repeat(1000)).subarray(0, 20), { 'content-encoding': 'gzip' }),
    '/deflate': sending('x', { 'content-encoding': 'deflate' }),
    '/br': sending(brotliCompressSync(pageOf('B', 'compressed')), { 'content-encoding': 'br' }),
    '/bomb.xml.gz': sending(bomb, { 'content-type': 'application/gzip' }),
    '/deep.xml': `<urlset>${'<a>'.repeat(100)}`,
    '/many.xml': sitemapOf(Array.from({ length: 30 }, (_, i) => `http://127.0.0.1/${i}`)),
  })
  const paths = ['/long', '/short', '/more', '/large', '/headers', '/bomb', '/broken', '/deflate', '/br']
  const sitemaps = ['/bomb.xml.gz', '/deep.xml', '/many.xml']
  const limits = { pageBytes: 2 ** 20, sitemapBytes: 2 ** 20, sitemapEntries: 20, delayMs: 0 }
  const { leftOut, pages } = await found(
    [...paths, ...sitemaps].map((path) => site.url(path)),
    { limits },
  )
  const reasons = Object.fromEntries(Object.entries(leftOut).map(([url, problem]) => [new URL(url).pathname, problem]))
  t.same(reasons, {
    '/long': 'too_large',
    '/short': 'unreachable',
    '/large': 'too_large',
    '/headers': 'unreachable',
    '/bomb': 'too_large',
    '/broken': 'damaged',
    '/deflate': 'not_supported',
    '/bomb.xml.gz': 'too_large',
    '/deep.xml': 'damaged',
    '/many.xml': 'too_large',
  })
  t.equal(pages.get(site.url('/more')), '<p>a', 'no more than was said')
  t.match(pages.get(site.url('/br')), /compressed/)
  const slow = ['/trickle', '/silent'].map((path) => site.url(path))
  t.same(Object.values((await found(slow, { limits: { responseMs: 700, delayMs: 0 } })).leftOut), ['timeout', 'timeout'])
})

t.test('a page that is what it was is not sent again; more pages than may be are named; an end ends all', async (t) => {
  const conditional: Answer = (request, response) =>
    request.headers['if-none-match'] === '"1"'
      ? response.writeHead(304).end()
      : response.writeHead(200, { 'content-type': 'text/html' }).end('<p>x')
  const site = await webSite(t, {
    '/a': conditional,
    '/b': conditional,
    '/c': conditional,
    '/never': (_, response) => response.writeHead(304).end(),
  })
  const urls = ['/a', '/b', '/c', '/never'].map((path) => site.url(path))
  const known = (url: string) => Promise.resolve(url === site.url('/a') ? { etag: '"1"' } : undefined)
  const first = await found(urls, { known, limits: { pages: 4 } })
  t.same(first.unchanged, [site.url('/a')])
  t.same(first.leftOut, { [site.url('/never')]: 'http_error' }, 'not asked for with a condition')
  t.equal(Object.values((await found(urls, { limits: { pages: 2 } })).leftOut).filter((one) => one === 'too_many').length, 2)
  const ending = new AbortController()
  const slow = await webSite(t, { '/a': () => ending.abort(new Error('enough')) })
  await t.rejects(found([slow.url('/a')], { signal: ending.signal }), { message: 'enough' })
})
