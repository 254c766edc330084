import t from 'tap'
import { checkLiteral } from '../../src/crawl/lookup.ts'
import { visit, type VisitOptions } from '../../src/crawl/visit.ts'
import { CRAWL_LIMITS } from '../../src/crawl/contract.ts'
import { createRobotsCache } from '../../src/crawl/robots.ts'

t.test('addresses of the public internet, of private networks, and what is neither', (t) => {
  const kinds = {
    public: ['8.8.8.8', '93.184.216.34', '100.63.255.255', '100.128.0.0', '172.32.0.1', '2606:4700::1111', '2a00::1'],
    private: ['127.0.0.1', '10.1.2.3', '172.16.0.1', '172.31.255.255', '192.168.1.1', '100.64.0.1', '::1', 'fd00::1', 'fc12::'],
    special: [
      ...['0.0.0.0', '169.254.169.254', '192.0.2.1', '198.18.0.1', '224.0.0.1', '239.255.255.250', '255.255.255.255', '240.0.0.1'],
      ...['::', '::ffff:8.8.8.8', '::ffff:127.0.0.1', '64:ff9b::7f00:1', '64:ff9b:1::1', 'fe80::1', 'fe80::1%eth0', 'ff02::1', 'ff0e::1'],
      ...['2001:db8::1', '2001::1', '2002:7f00:1::', '::7f00:1', '3fff::1'],
    ],
  }
  const isAllowed = (address: string, allowPrivate: boolean): boolean => {
    try {
      checkLiteral(address, { allowPrivate })
      return true
    } catch {
      return false
    }
  }
  for (const [kind, addresses] of Object.entries(kinds))
    for (const one of addresses) {
      t.equal(isAllowed(one, false), kind === 'public', one)
      t.equal(isAllowed(one, true), kind !== 'special', one)
    }
  t.end()
})

t.test('robots.txt, as RFC 9309 has it', async (t) => {
  const allows = (text: string, path: string): Promise<boolean> => {
    const body = async function* () {
      await Promise.resolve()
      yield Buffer.from(text)
    }
    const response = { status: 200, headers: {}, body, end: () => undefined }
    const options = { rules: { named: [], allowPrivate: false }, limits: CRAWL_LIMITS, send: () => Promise.resolve(response) }
    const permit = createRobotsCache({ ...options, atHost: (_, work) => work() }, 'cepe-qa')
    return permit(new URL(path, 'https://example.org')).then(
      () => true,
      () => false,
    )
  }
  // The RFC's own example (5.2) of the longest match.
  const longest = 'User-Agent: cepe-qa\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n'
  t.ok(await allows(longest, '/example/page/'))
  t.notOk(await allows(longest, '/example/page/disallowed.gif'))
  const cases: readonly (readonly [rules: string, path: string, allowed: boolean])[] = [
    ['Disallow: /', '/robots.txt', true],
    ['Disallow: /', '/', false],
    ['Disallow:', '/a', true],
    ['Disallow: /a\nAllow: /a', '/a', true],
    ['Disallow: /*.pdf$', '/x/y.pdf', false],
    ['Disallow: /*.pdf$', '/x/y.pdf?z', true],
    ['Disallow: /a$', '/a', false],
    ['Disallow: /a$', '/ab', true],
    ['Disallow: /*?', '/a?b=1', false],
    ['Disallow: /a*b*c', '/axxbxxcxx', false],
    ['Disallow: /a*b*c', '/axxcxxb', true],
    ['Disallow: /a*bc$', '/abc-bc', false],
    ['Disallow: /a*ab$', '/ab', true],
    ['Disallow: /caf\u00e9', '/caf%c3%a9/menu', false],
    ['Disallow: /%7ejoe', '/~joe/', false],
    ['Disallow: /a%2fb', '/a/b', true],
    ['disallow : /x # not this', '/x', false],
    ['Disallow: x', '/x', true],
  ]
  for (const [rules, path, allowed] of cases) t.equal(await allows(`User-agent: *\n${rules}\n`, path), allowed, `${rules} ${path}`)
  const groups =
    'User-agent: other\nUser-agent: Cepe-QA/2.0\nDisallow: /one\n\nUser-agent: *\nDisallow: /\n\nUser-agent: cepe-qa\r\nDisallow: /two\r\n'
  t.same(
    await Promise.all(['/one', '/two', '/three'].map((path) => allows(groups, path))),
    [false, false, true],
    'groups of the same crawler are one',
  )
  t.ok(await allows('\ufeffnonsense\0\nDisallow: /\nSitemap: https://example.org/s.xml', '/'), 'rules of nobody')
  const hostile = `User-agent: *\nDisallow: /${'*a'.repeat(5000)}$\n`
  t.ok(await allows(hostile, `/${'a'.repeat(900)}b`), 'patterns are matched in linear time')
})

t.test('a redirect from https to http is not followed', async (t) => {
  const options: VisitOptions = {
    rules: { named: [], allowPrivate: false },
    limits: CRAWL_LIMITS,
    atHost: (_, work) => work(),
    send: (url) =>
      Promise.resolve({
        status: url.hostname === 'b.example' ? 200 : 308,
        headers: { location: url.pathname === '/up' ? 'https://b.example/' : 'http://b.example/' },
        body: async function* () {
          await Promise.resolve()
          yield Buffer.of()
        },
        end: () => undefined,
      }),
  }
  const to = async (url: string) => (await visit(new URL(url), options, () => Promise.resolve(true))).url.href
  await t.rejects(to('https://a.example/down'), { message: /from https/ })
  t.equal(await to('https://a.example/up'), 'https://b.example/')
  t.equal(await to('http://a.example/down'), 'http://b.example/')
  await t.rejects(to('https://a.example:8443/up'), { message: /Port 8443/ }, 'ports are named')
})
