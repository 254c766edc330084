import t from 'tap'
import { embed, somePassages, tempDir } from '../helpers.ts'
import { opened } from '../ingest/job-helpers.ts'

await t.test('pages, exports and counts agree', async (t) => {
  const index = await opened(t, await tempDir(t))
  await t.rejects(index.list({ limit: 5 }), { code: 'index_missing' })
  const corpus = somePassages(250)
  await index.upsert(corpus, await embed(corpus.map((p) => p.text)))
  const quote = { id: "p'9", title: '', text: 'a quote in its id' }
  await index.upsert([quote], await embed([quote.text]))
  const ids: string[] = []
  for (let after: string | undefined; ;) {
    const page = await index.list({ limit: 40, ...(after !== undefined && { after }) })
    ids.push(...page.map(({ id }) => id))
    if (page.length < 40) break
    after = page.at(-1)?.id
  }
  const wanted = [...corpus.map(({ id }) => id), quote.id].sort()
  t.same(ids, wanted, 'each passage once, in order')
  t.same(
    (await index.list({ limit: 3, after: "p'9", filter: { source: 'odd.tsv' } })).map(({ id }) => id),
    ['p1', 'p101', 'p103'],
  )
  const exported = new Map<string, unknown>()
  for await (const passage of index.export()) exported.set(passage.id, passage)
  t.same([...exported.keys()].sort(), wanted)
  t.same(exported.get('p7'), corpus[7])
  const even: string[] = []
  for await (const { id } of index.export({ source: 'even.tsv' })) even.push(id)
  t.equal(even.length, 125)
  const counts = (await index.sources()).map(({ source, passages }) => [source, passages])
  t.same(counts, Object.entries({ 'even.tsv': 125, 'odd.tsv': 125, '': 1 }), 'largest first, equal ones by name')
})
