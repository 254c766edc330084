import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { uniform } from '../../fixtures/synthetic-checkpoint.ts'
import { buildIndexes } from '../../../index/search/ann.ts'
import { connectLance, Index, vectorIndexConfig, writing, type Table } from '../../../index/table/lance.ts'
import { readMetadata, type AnnSettings } from '../../../index/table/metadata.ts'
import { createTable } from '../../../index/table/create.ts'
import { openIndex } from '../../../index/open.ts'
import { writeAlias } from '../../../index/versions/alias.ts'
import { contentHash } from '../../../index/hash.ts'
import { reachOf, shareOf, takeProbes, type Probe } from '../../../index/search/recall.ts'
import { arrowTable, packVectors } from '../../../index/table/rows.ts'
import { searchVector } from '../../../index/search/search.ts'
import type { Embed, Passage } from '../../../index/contract.ts'
import { embed, embedText, hashEmbedding, somePassages, tempDir } from '../helpers.ts'

async function append(table: Table, passages: readonly Passage[], vectors?: readonly Float32Array[]): Promise<void> {
  const halves = packVectors(passages, vectors ?? (await embed(passages.map((p) => p.text))), hashEmbedding.dimension)
  await table.add(arrowTable({ passages, hashes: passages.map(contentHash), halves }, hashEmbedding.dimension))
}

/** A table without rows, and what puts it behind the index's name. */
async function stored(t: Test) {
  const dir = await tempDir(t)
  const connection = await connectLance(dir, 0)
  t.teardown(() => connection.close())
  const table = await createTable(connection, 'passages.a', hashEmbedding)
  const goLive = async (options: Partial<Parameters<typeof openIndex>[0]> = {}) => {
    await writeAlias({ dir, table: 'passages' }, 'passages.a')
    const index = await openIndex({ dir, model: hashEmbedding, ...options })
    t.teardown(() => index.close())
    return index
  }
  return { table, goLive }
}

/**
 * Measures recall by searches alone. Equal scores count as found.
 * @param ties false for the first search of each probe alone: 12 rows for a stored vector, of 12 times as many candidates as 11/12 of `refine`
 */
async function measureRecall(table: Table, settings: AnnSettings, probes: readonly Probe[], ties = true) {
  const { nprobes, refine } = settings
  const found: number[] = []
  for (const { id, vector, least, wanted, crowded } of probes) {
    const first = table.query().nearestTo(vector).column('vector').distanceType('dot').limit(12).nprobes(nprobes)
    const hits =
      ties || crowded
        ? await searchVector(table, settings, vector, { k: id === undefined ? 10 : 11 })
        : (
            await first
              .refineFactor(Math.ceil((refine * 11) / 12))
              .select(['id', '_distance'])
              .toArray()
          ).map((row: { id: string; _distance: number }) => ({ id: row.id, score: 1 - row._distance }))
    const others = hits.filter((hit) => hit.id !== id).slice(0, 10)
    found.push(Math.min(wanted, others.filter(({ score }) => score >= least - 1e-5 * Math.max(1, Math.abs(least))).length))
  }
  const { share, atLeast } = shareOf(
    found,
    probes.map(({ wanted }) => wanted),
  )
  return { recall: share, atLeast }
}

const policy = { exactBelow: 1000, minRecall: 0.95, sample: 16 }

await t.test('small tables stay exact; large ones get an index whose settings reach the recall', async (t) => {
  const { table, goLive } = await stored(t)
  await append(table, somePassages(900))
  t.equal(await buildIndexes(table, policy), undefined)
  t.equal((await readMetadata(table)).ann, undefined)

  await append(table, somePassages(2100, 900))
  const ann = await buildIndexes(table, policy)
  // LanceDB wants 4,096 rows in a partition.
  t.match(ann, { partitions: 1, rows: 3000 })
  if (ann === undefined) return
  t.ok(ann.recall >= 0.95 && ann.nprobes === 1 && ann.refine >= 2, `recall ${ann.recall} at nprobes ${ann.nprobes}, refine ${ann.refine}`)
  const measured = await measureRecall(table, ann, await takeProbes(table, policy.sample))
  t.ok(measured.atLeast >= 0.95 && measured.atLeast <= measured.recall, `${measured.atLeast} to be had, ${measured.recall} measured`)
  t.same((await readMetadata(table)).ann, ann)
  t.ok(
    (await measureRecall(table, { ...ann, nprobes: 1, refine: 1 }, await takeProbes(table, 16))).recall < 1,
    'codes without refinement are not enough: the measure can fail',
  )
  t.same(await buildIndexes(table, policy), ann, 'nothing to do the second time')

  await append(table, [{ id: 'tail', title: '', text: 'zebra quokka axolotl' }])
  const [best] = await searchVector(table, ann, embedText('zebra quokka axolotl'), { k: 1 })
  t.equal(best?.id, 'tail', 'rows that the index does not cover are found')
  const exact = await searchVector(table, undefined, embedText('lagoon'), { k: 5 })
  const approximate = await searchVector(table, { ...ann, nprobes: ann.partitions }, embedText('lagoon'), { k: 5 })
  for (const [i, hit] of exact.entries()) t.ok(Math.abs(hit.score - (approximate[i]?.score ?? 0)) < 1e-3, 'refined scores are dot products')

  const index = await goLive()
  t.match(await index.info(), { kind: 'ivf_rq', nprobes: ann.nprobes, refine: ann.refine, rows: 3001, unindexedRows: 1 })
  const filtered = await index.view().then((view) =>
    view.search(embedText('lagoon'), {
      k: 20,
      filter: { title: Array.from({ length: 20 }, (_, i) => `Place ${i * 50}`) },
    }),
  )
  t.equal(filtered.length, 20, 'a narrow filter reads as many partitions as it takes')
})

t.test('the interval of a recall: wider where the hits of a query are found or missed together, never without width', (t) => {
  const ten = (count: number) => Array.from({ length: count }, () => 10)
  const even = shareOf(
    ten(64).map((_, i) => (i % 2 === 0 ? 10 : 9)),
    ten(64),
  )
  const uneven = shareOf(
    ten(64).map((_, i) => (i % 20 === 0 ? 2 : 10)),
    ten(64),
  )
  t.match(
    [even.share, uneven.share].map((share) => share.toFixed(2)),
    ['0.95', '0.95'],
  )
  // Wilson's interval of 608 in 640: 0.930.
  t.ok(Math.abs(even.atLeast - 0.93) < 0.001, String(even.atLeast))
  t.ok(uneven.atLeast < 0.9, String(uneven.atLeast))
  const all = shareOf(ten(64), ten(64))
  t.ok(all.share === 1 && all.atLeast < 0.995 && all.atLeast > 0.99, String(all.atLeast))
  t.same(shareOf([], []), { share: 1, atLeast: 1 })
  t.end()
})

/** Directions without any order: no cluster helps a search, and few bits per dimension tell them apart badly. */
function shapeless(n: number): Float32Array[] {
  const next = uniform(3)
  return Array.from({ length: n }, () => Float32Array.from({ length: hashEmbedding.dimension }, () => 2 * next() - 1))
}

await t.test('where reading every partition is not enough, more candidates are refined; searches use both settings', async (t) => {
  const { table, goLive } = await stored(t)
  const vectors = shapeless(4000)
  await append(table, somePassages(4000), vectors)
  const ann = await buildIndexes(table, { exactBelow: 1000, minRecall: 0.99, sample: 32 })
  t.ok(ann)
  if (ann === undefined) return
  const probes = await takeProbes(table, 32)
  const { recall } = await measureRecall(table, { ...ann, nprobes: ann.partitions, refine: 4 }, probes)
  t.ok(recall < 0.99, `recall ${recall} with all partitions and four candidates per hit`)
  t.ok(ann.refine > 4 && ann.recall >= 0.99, `recall ${ann.recall} at nprobes ${ann.nprobes}, refine ${ann.refine}`)
  const index = await goLive()
  t.match(await index.info(), { nprobes: ann.nprobes, refine: ann.refine })
  const questions = vectors.filter((_, i) => i % 100 === 7).map((vector) => vector.map((value) => value + 0.1))
  let same = 0
  for (const question of questions) {
    const exact = await searchVector(table, undefined, question, { k: 1 })
    const approximate = await index.view().then((view) => view.search(question, { k: 1 }))
    if (exact[0]?.id === approximate[0]?.id) same++
  }
  t.ok(same >= questions.length - 1, `the first hit alone is the right one, ${same} of ${questions.length} times`)
})

/** Ten passages close around each of many centres: the nearest of a stored vector stand out. */
function clustered(n: number): Float32Array[] {
  const centres = shapeless(Math.ceil(n / 10))
  const next = uniform(5)
  return Array.from({ length: n }, (_, i) => (centres[i % centres.length] ?? new Float32Array()).map((value) => value + 0.1 * next()))
}

/** Questions lie apart from the clusters. */
function asked(seed: number): Embed {
  const next = uniform(seed)
  return (texts) => Promise.resolve(texts.map(() => Float32Array.from({ length: hashEmbedding.dimension }, () => 2 * next() - 1)))
}

await t.test('recall is measured with questions where they can be embedded, in place of stored vectors', async (t) => {
  const { table, goLive } = await stored(t)
  await append(table, somePassages(4000), clustered(4000))
  const limits = { exactBelow: 1000, minRecall: 0.95, sample: 48 }
  const blind = await buildIndexes(table, limits)
  t.ok(blind)
  if (blind === undefined) return
  const questions = await takeProbes(table, 48, asked(11))
  const missed = await measureRecall(table, blind, questions)
  t.ok(blind.recall >= 0.95 && missed.recall < 0.95, `recall ${blind.recall} of stored vectors, ${missed.recall} of questions`)
  t.equal(blind.questionRecall, undefined)

  const ann = await buildIndexes(table, limits, { embedQuestions: asked(7) })
  t.ok(ann)
  if (ann === undefined) return
  t.equal(ann.recall, ann.questionRecall)
  const found = await measureRecall(table, ann, questions)
  // Other questions, and an index whose clusters begin at random: 0.933 has been seen where those asked had 0.95.
  const better = ann.refine > blind.refine && found.recall > missed.recall && found.recall >= 0.9
  t.ok(better, `recall ${found.recall} of other questions at refine ${ann.refine}, ${missed.recall} before`)
  t.same(await buildIndexes(table, limits, { embedQuestions: asked(7) }), ann, 'measured once')
  t.match(await (await goLive()).info(), { recall: ann.recall, questionRecall: ann.questionRecall })
  const warnings: string[] = []
  const strict = { ...limits, minRecall: 1.01, onWarning: (message: string) => warnings.push(message) }
  await buildIndexes(table, strict, { embedQuestions: asked(7) })
  t.match(warnings, [/of the required 1\.01 \(for sentences of passages as questions\)/])
})

await t.test('the recall that candidates alone tell is that of searches', async (t) => {
  const { table } = await stored(t)
  const vectors = shapeless(6000)
  // Of every tenth there are three, and of one two hundred: more than are looked at for a probe.
  const repeated = vectors.map((vector, i) =>
    i < 200 ? (vectors[3000] ?? vector) : i % 10 < 3 ? (vectors[i - (i % 10)] ?? vector) : vector,
  )
  await append(table, somePassages(6000), repeated)
  const probes = await takeProbes(table, 40)
  t.ok(probes.some(({ crowded }) => crowded) && probes.some(({ crowded }) => !crowded), 'probes of both kinds')
  const refinements = [1, 4, 10, 28]
  // With two bits another one of near-equal candidates may be the last, by how many are asked for: a hit or two of 400.
  const oneBit = Index.ivfRq({ distanceType: 'dot', numPartitions: 4, numBits: 1 })
  for (const { config, within } of [
    { config: oneBit, within: 0 },
    { config: vectorIndexConfig(4), within: 0.01 },
  ]) {
    await writing(table, () => table.createIndex('vector', { config }))
    for (const nprobes of [1, 3]) {
      const settings = { partitions: 4, nprobes, rows: 6000, recall: 0 }
      const reached = await reachOf(table, { ...settings, refinements }, probes)
      // A search that finds equal scores at its end looks further, and may find more.
      for (const [i, refine] of refinements.entries()) {
        const { recall } = await measureRecall(table, { ...settings, refine }, probes)
        const { recall: once } = await measureRecall(table, { ...settings, refine }, probes, false)
        const { share = -1 } = reached[i] ?? {}
        t.ok(Math.abs(share - once) <= within && once <= recall + within, `${share}: ${once} of one search, ${recall} of all`)
      }
      t.ok((reached[0]?.share ?? 1) < (reached[3]?.share ?? 0), 'more candidates, more recall')
    }
  }
})

await t.test('an index that cannot reach the recall is not used, which is said', async (t) => {
  const { table } = await stored(t)
  await append(table, somePassages(1200))
  const made = async () => (await table.listIndices()).find(({ name }) => name === 'vector_idx')?.indexUuid
  const warnings: string[] = []
  const strict = { ...policy, minRecall: 1.01, onWarning: (message: string) => warnings.push(message) }
  t.equal(await buildIndexes(table, strict), undefined)
  t.match(warnings, [/recall@10 [01]\.\d{3} of the required 1\.01.*compare every vector.*CEPE_MIN_RECALL.*CEPE_EXACT_BELOW above 1200/])
  t.equal((await readMetadata(table)).ann, undefined)
  const first = await made()
  t.ok(first)
  t.equal((await buildIndexes(table, policy))?.rows, 1200, 'with a lower limit it passes')
  t.equal(await made(), first, 'the index was not built again')
  t.ok(await buildIndexes(table, strict))
  t.match(warnings[1], /searches use it/)
  t.ok((await readMetadata(table)).ann, 'a table that is searched through its index stays so')
  t.equal(await buildIndexes(table, { ...policy, exactBelow: 5000 }), undefined)
  t.equal((await readMetadata(table)).ann, undefined, 'below the limit every vector is compared')
})

await t.test('vectors of another model, which users brought, are probed with themselves alone', async (t) => {
  const { table } = await stored(t)
  await append(table, somePassages(1500), shapeless(1500))
  let questions = 0
  const embedQuestions = (texts: readonly string[]) => ((questions += texts.length), embed(texts))
  const ann = await buildIndexes(table, policy, { embed, embedQuestions })
  t.equal(questions, 0)
  t.ok((ann?.recall ?? 0) >= 0.95)
  t.equal(ann?.questionRecall, undefined)
  t.same(await buildIndexes(table, policy, { embed, embedQuestions }), ann, 'measured once')
})

await t.test('large tables filter through indexes, which cover what was added later', async (t) => {
  const { table, goLive } = await stored(t)
  await append(table, somePassages(1500))
  await buildIndexes(table, { ...policy, exactBelow: 10_000 })
  const filters = async () =>
    (await table.listIndices())
      .filter(({ name }) => name.endsWith('_filter'))
      .map(({ name, indexType, numUnindexedRows }) => `${name} ${indexType} ${String(numUnindexedRows)}`)
  t.same(await filters(), [], 'small tables are scanned')
  await buildIndexes(table, policy)
  t.same(await filters(), ['source_filter Bitmap 0', 'title_filter BTree 0'], 'few sources, many titles')

  const index = await goLive({ consistencyMs: 0, compactAfter: 2 })
  const late = somePassages(40, 1500).map((passage) => ({ ...passage, source: 'late.tsv' }))
  await index.upsert(late, await embed(late.map((p) => p.text)))
  t.equal(await index.count({ source: 'late.tsv' }), 40, 'rows that no index covers yet are found')
  t.equal(await index.count({ source: ['late.tsv', 'odd.tsv'] }), 790)
  t.same(
    (await index.view().then((view) => view.search(embedText('lagoon'), { k: 3, filter: { title: 'Place 1507' } }))).map(({ id }) => id),
    ['p1507'],
  )
  const worded = await index.view().then((view) => view.searchText('lagoon', { k: 100, filter: { source: 'late.tsv' } }))
  t.ok(worded.length > 0 && worded.every((hit) => hit.source === 'late.tsv'))
  t.equal(await index.delete({ title: ['Place 3', 'Place 1507'] }), 2)
  await index.upsert(late.slice(0, 1), await embed(late.slice(0, 1).map((p) => p.text)))
  // The test's own time limit is the only one.
  while ((await filters()).some((line) => !line.endsWith(' 0'))) await sleep(20)
  t.same(await filters(), ['source_filter Bitmap 0', 'title_filter BTree 0'], 'tidying brings them up to date')
  t.equal(await index.delete({ source: 'late.tsv' }), 39)
  t.equal(await index.count(), 1499)
  t.equal(await index.count({ title: 'Place 3' }), 0)
})
