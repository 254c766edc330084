import t from 'tap'
import { Value } from 'typebox/value'
import { readAlias, tableFolder } from '../../../index/versions/alias.ts'
import { connectLance } from '../../../index/table/lance.ts'
import { updateIndexes } from '../../../index/search/update-indexes.ts'
import { watchChanges } from '../../../index/writers/change-log.ts'
import { compactTable } from '../../../index/compaction/compact.ts'
import { TableSync } from '../../../index/table/table-sync.ts'
import { openIndex, type PassageIndex } from '../../../index/open.ts'
import { passageText, type Passage, type SearchFilter } from '../../../index/contract.ts'
import { type Condition, FilterSchema } from '../../../index/filter-schema.ts'
import { checkMetadata, type MetadataValue, type PassageMetadata } from '../../../index/passage-metadata.ts'
import { embed, embedText, hashEmbedding, somePassages, tempDir } from '../helpers.ts'
import { planned, run } from '../ingest/job-helpers.ts'

async function filled(t: Parameters<typeof tempDir>[0], passages: readonly Passage[]): Promise<{ dir: string; index: PassageIndex }> {
  const dir = await tempDir(t)
  const index = await openIndex({ dir, model: hashEmbedding, consistencyMs: 0 })
  t.teardown(() => index.close())
  await index.upsert(passages, await embed(passages.map(passageText)))
  return { dir, index }
}

async function storedTable(t: Parameters<typeof tempDir>[0], dir: string) {
  const connection = await connectLance(dir, 0)
  t.teardown(() => connection.close())
  const storedAs = (await readAlias({ dir, table: 'passages' })) ?? ''
  return connection.openTable(storedAs)
}

/** Names and values that mean something in SQL, JSON or JSON paths. */
const HOSTILE = [
  "x' OR '1'='1",
  "'); DROP TABLE passages; --",
  '"],["a","b',
  '$.year',
  '$["year"]',
  'k\'"\\',
  'a.b',
  'constructor',
  "o'clock",
  '%',
  '_',
  '*',
  '\\',
  '\\n',
  'NULL',
  'n:year',
  'größe 漢字 🦉',
  'line\u2028end',
  '\u0000null',
  'tab\tnewline\n',
]

/** For messages: TAP takes some characters for line ends. */
function said(...values: unknown[]): string {
  return encodeURI(JSON.stringify(values))
}

await t.test('metadata comes back as it was given, whatever it holds', async (t) => {
  const metadata = HOSTILE.filter((name) => checkMetadata({ [name]: '' }).metadata !== undefined)
  const everything: PassageMetadata[] = [
    ...metadata.map((name) => ({ [name]: name })),
    ...HOSTILE.map((value) => ({ value, list: [value, 'x'] })),
    {
      string: '',
      zero: 0,
      tenth: 0.1,
      big: Number.MAX_SAFE_INTEGER,
      huge: 1e300,
      small: -5e-324,
      yes: true,
      no: false,
      nothing: null,
      none: [],
    },
  ]
  const passages = everything.map((one, i) => ({ id: `p${i}`, title: '', text: `passage ${i}`, metadata: one }))
  const { index } = await filled(t, [...passages, { id: 'bare', title: '', text: 'without' }])
  for (const passage of passages) t.same((await index.get(passage.id))?.metadata, passage.metadata)
  t.notOk('metadata' in ((await index.get('bare')) ?? {}))
  t.same((await index.changed([...passages])).length, 0, 'known as unchanged')
  for (const { id, metadata: own } of passages) {
    for (const [name, value] of Object.entries(own)) {
      for (const one of Array.isArray(value) ? value : [value]) {
        const found = (await index.list({ limit: 100, filter: { metadata: { [name]: one } } })).map((passage) => passage.id)
        const expected = passages.filter(({ metadata: other }) => meets(other[name], { equal: one }))
        t.same(found.sort(), expected.map((passage) => passage.id).sort(), said(id, name, one))
      }
    }
  }
})

await t.test('no value and no name leaves its place in a condition', async (t) => {
  const passages = somePassages(10).map((passage, i) => ({ ...passage, metadata: { year: 2000 + i, lang: 'en' } }))
  const { index } = await filled(t, passages)
  for (const text of HOSTILE) {
    for (const operator of ['equal', 'prefix', 'gt', 'lt'] as const) {
      const matches = (value: string): boolean =>
        ({
          equal: value === text,
          prefix: value.startsWith(text),
          gt: Buffer.compare(Buffer.from(value), Buffer.from(text)) > 0,
          lt: Buffer.compare(Buffer.from(value), Buffer.from(text)) < 0,
        })[operator]
      t.equal(await index.count({ metadata: { lang: { [operator]: text } } }), matches('en') ? 10 : 0, said('lang', operator, text))
      t.equal(await index.count({ metadata: { [text]: { [operator]: 'en' } } }), 0, said('field', text))
      t.equal(await index.count({ id: { [operator]: text } }), passages.filter(({ id }) => matches(id)).length)
    }
    t.equal(await index.count({ metadata: { [text]: { gte: 1 } } }), 0)
    t.equal(await index.delete({ metadata: { lang: text } }), 0)
  }
  t.equal(await index.count(), 10)
})

type Random = () => number
function randomOf(seed: number): Random {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
function pick<T>(random: Random, from: readonly [T, ...T[]]): T {
  return from[Math.floor(random() * from.length)] ?? from[0]
}

const SCALARS: readonly [string | number | boolean | null, ...(string | number | boolean | null)[]] = [
  'a',
  'ab',
  'abc',
  "b'",
  'é',
  '10',
  10,
  9.5,
  -3,
  0,
  true,
  false,
  null,
]
const NAMES: readonly [string, ...string[]] = ['x', 'y', "z'"]

function randomMetadata(random: Random): PassageMetadata | undefined {
  if (random() < 0.2) return undefined
  const value = (): MetadataValue => (random() < 0.25 ? ['a', "b'", 'é'].filter(() => random() < 0.5) : pick(random, SCALARS))
  return Object.fromEntries(NAMES.filter(() => random() < 0.7).map((name) => [name, value()]))
}

function randomCondition(random: Random): Condition {
  const kind = random()
  if (kind < 0.3) return { equal: pick(random, SCALARS) }
  if (kind < 0.5) return { in: [pick(random, SCALARS), pick(random, SCALARS)] }
  if (kind < 0.6) return { prefix: pick(random, ['a', 'ab', '1', 'é', "b'"]) }
  const bounds = random() < 0.5 ? (['', 'a', 'ab', 'b', 'é'] as const) : ([-3, 0, 9.5, 10] as const)
  return random() < 0.5 ? { gte: pick<string | number>(random, bounds) } : { gt: bounds[0], lte: pick<string | number>(random, bounds) }
}

/** What the documentation says of a condition, in JavaScript. */
function meets(value: MetadataValue | undefined, condition: Condition): boolean {
  const values = Array.isArray(value) ? value : [value]
  const order = (bound: string | number): number | undefined =>
    typeof bound !== typeof value
      ? undefined
      : typeof bound === 'number'
        ? Number(value) - bound
        : Buffer.compare(Buffer.from(String(value)), Buffer.from(bound))
  const check = (bound: string | number | undefined, test: (order: number) => boolean): boolean => {
    const result = bound === undefined ? 1 : order(bound)
    return bound === undefined || (result !== undefined && test(result))
  }
  return (
    (condition.equal === undefined || values.some((one) => one === condition.equal)) &&
    (condition.in === undefined || values.some((one) => condition.in?.some((wanted) => wanted === one) === true)) &&
    (condition.prefix === undefined || (typeof value === 'string' && value.startsWith(condition.prefix))) &&
    check(condition.gt, (by) => by > 0) &&
    check(condition.gte, (by) => by >= 0) &&
    check(condition.lt, (by) => by < 0) &&
    check(condition.lte, (by) => by <= 0)
  )
}

await t.test(
  'every filter finds what a scan in JavaScript finds: without an index, with one, after additions and compaction',
  async (t) => {
    const random = randomOf(7)
    const make = (n: number, first: number): Passage[] =>
      somePassages(n, first).map((passage) => {
        const metadata = randomMetadata(random)
        return { ...passage, ...(metadata !== undefined && Object.keys(metadata).length > 0 && { metadata }) }
      })
    const passages = make(300, 0)
    const { dir, index } = await filled(t, passages)
    const agree = async (when: string): Promise<void> => {
      let found = 0
      for (let i = 0; i < 60; i++) {
        const conditions = Object.fromEntries(NAMES.filter(() => random() < 0.5).map((name) => [name, randomCondition(random)]))
        if (Object.keys(conditions).length === 0) continue
        const filter: SearchFilter = {
          metadata: conditions,
          ...(random() < 0.3 && { source: 'even.tsv' }),
          ...(random() < 0.3 && { id: { prefix: 'p1' } }),
        }
        const expected = passages
          .filter(({ metadata }) => Object.entries(conditions).every(([name, one]) => meets(metadata?.[name], one)))
          .filter(
            ({ source, id }) => (filter.source === undefined || source === 'even.tsv') && (filter.id === undefined || id.startsWith('p1')),
          )
          .map(({ id }) => id)
          .sort()
        const hits = await index.view().then((view) => view.search(embedText('lagoon'), { k: 1000, filter }))
        t.same(hits.map(({ id }) => id).sort(), expected, `${when}: ${JSON.stringify(filter)}`)
        found += expected.length
      }
      t.ok(found > 100, 'the filters find something')
    }
    await agree('without an index')
    const table = await storedTable(t, dir)
    await updateIndexes(table, await table.countRows(), { exactBelow: 0, keepMs: 0 })
    t.ok((await table.listIndices()).some(({ columns }) => columns.includes('metadata_labels')))
    await index.refresh()
    await agree('with an index')
    const more = make(200, 200)
    passages.splice(200, 100, ...more)
    await index.upsert(more, await embed(more.map(passageText)))
    await agree('rows that the index does not cover')
    await table.checkoutLatest()
    await compactTable(table, await TableSync.start(tableFolder(dir, table.storedAs)), 0, 1)
    await index.refresh()
    await agree('after compaction')
  },
)

await t.test('a filter that cannot be is refused: by its schema, or by name', async (t) => {
  for (const filter of [
    { text: 'x' },
    { source: 5 },
    { source: {} },
    { source: [] },
    { id: { like: '%' } },
    { metadata: {} },
    { metadata: { year: { above: 1 } } },
    { metadata: { year: { gt: true } } },
    { metadata: { year: { gt: NaN } } },
    { metadata: { year: { prefix: 1 } } },
    { metadata: { year: { equal: { a: 1 } } } },
  ])
    t.equal(Value.Check(FilterSchema, filter), false, JSON.stringify(filter))
  const { index } = await filled(t, somePassages(1))
  await t.rejects(index.count({ metadata: { year: { gt: 1, lt: '2' } } }), { code: 'invalid_request', field: 'filter.metadata.year' })
  await t.rejects(index.delete({ metadata: {} }), { code: 'invalid_request' })
})

await t.test('jobs take metadata along: new, changed alone without embedding, and put while a table is replaced', async (t) => {
  const dir = await tempDir(t)
  const index = await openIndex({ dir, model: hashEmbedding, consistencyMs: 0 })
  t.teardown(() => index.close())
  const withYears = (year: number): Passage[] => somePassages(120).map((passage, i) => ({ ...passage, metadata: { year: year + i } }))
  await planned(dir, 'j1', withYears(1900))
  await run(dir, 'j1')
  await index.refresh()
  t.equal(await index.count({ metadata: { year: { gte: 1910, lt: 1920 } } }), 10)
  const never = () => Promise.reject(new Error('embedded again'))
  await planned(dir, 'j2', withYears(2000))
  await run(dir, 'j2', { embed: never })
  await index.refresh()
  t.equal(await index.count({ metadata: { year: { gte: 2000 } } }), 120)
  await planned(dir, 'j3', somePassages(60))
  await watchChanges({ dir, table: 'passages' }, 'j3')
  const extra = { id: 'extra', title: '', text: 'put meanwhile', metadata: { put: true } }
  await index.upsert([extra], [embedText('put meanwhile')])
  await run(dir, 'j3', { replace: true, embed: never })
  await index.refresh()
  t.equal(await index.count(), 61)
  t.same(await index.get('extra'), extra)
  t.notOk('metadata' in ((await index.get('p7')) ?? {}))
})

await t.test('what metadata may be', (t) => {
  const problem = (given: unknown): string => checkMetadata(given).problem ?? ''
  t.match(problem([1]), /not a JSON object/)
  t.match(problem('no json'), /not a JSON object/)
  t.match(problem({ a: { b: 1 } }), /"a" is neither/)
  t.match(problem({ a: [1] }), /not one of strings/)
  t.match(problem({ a: Infinity }), /finite/)
  t.match(problem({ a: 2n ** 60n }), /exact/)
  t.match(problem({ ' ': 1 }), /no usable name/)
  t.match(problem({ 'a\n': 1 }), /no usable name/)
  t.match(problem(JSON.parse('{"__proto__": 1}')), /no usable name/)
  t.match(problem({ ['n'.repeat(65)]: 1 }), /name of more than/)
  t.match(problem({ a: 'x'.repeat(1001) }), /longer than 1000/)
  t.match(problem({ a: Array.from({ length: 65 }, () => 'x') }), /has 65 values/)
  t.match(problem(Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`f${i}`, 1]))), /33 fields/)
  t.match(problem(Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((name) => [name, 'x'.repeat(1000)]))), /bytes of JSON/)
  // Characters as people count them: one emoji, not its two units of UTF-16.
  t.equal(problem({ ['😀'.repeat(64)]: '😀'.repeat(900) }), '')
  t.match(problem({ ['😀'.repeat(65)]: 1 }), /name of more than 64 characters/)
  t.match(problem({ a: 'é'.repeat(1001) }), /longer than 1000 characters/)
  t.same(checkMetadata({}), {})
  t.same(checkMetadata(undefined), {})
  t.same(checkMetadata('{"b": -0, "a": ""}'), { metadata: { a: '', b: 0 } })
  for (const cut of ['"\\ud800"', '"x\\udc00y"', '["whole", "\\ud83d"]'])
    t.match(checkMetadata(`{"a": ${cut}}`), { problem: /"a" holds half of a surrogate pair/ })
  for (const rounded of ['9007199254740993', '12345678901234567890', '-9007199254740993'])
    t.match(checkMetadata(`{"a": ${rounded}}`), { problem: /"a" is not an exact integer: write it as a string/ })
  t.same(checkMetadata('{"a": 9007199254740991, "b": 9.46e15, "c": 1e21}'), { metadata: { a: 9007199254740991, b: 9.46e15, c: 1e21 } })
  t.same(checkMetadata('{"a": "\\ud83d\\ude00"}'), { metadata: { a: '\u{1f600}' } })
  t.end()
})
