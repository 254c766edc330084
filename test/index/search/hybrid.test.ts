import t from 'tap'
import { connectLance, writing as committing } from '../../../index/table/lance.ts'
import { readMetadata } from '../../../index/table/metadata.ts'
import { DEFAULT_DENSE_WEIGHT, FUSED_DEPTH, fuseScores, searchHybrid } from '../../../index/search/hybrid.ts'
import { middleSentence } from '../../../index/search/hybrid-weight.ts'
import { findByVector, findByWords, refineFactor, wholeHits, withPassages } from '../../../index/search/search.ts'
import type { FoundList } from '../../../index/search/ties.ts'
import type { Embed, Passage, SearchHit } from '../../../index/contract.ts'
import { embed, embedText, hashEmbedding, tempDir } from '../helpers.ts'
import { opened, planned, run } from '../ingest/job-helpers.ts'

interface Hit {
  readonly id: string
  readonly score: number
}

/** A list of which more could be found. */
function hits(...scored: readonly (readonly [string, number])[]): FoundList<Hit> {
  return { rows: scored.map(([id, score]) => ({ id, score })), complete: false }
}

await t.test('scores are fused on one scale, by weight', (t) => {
  const dense = hits(['a', 30], ['b', 29], ['c', 10])
  const text = hits(['c', 8], ['d', 2], ['b', 1])
  t.same(
    fuseScores({ dense, text }, 0.5, 3).map(({ id, score }) => [id, Math.round(score * 1e6) / 1e6]),
    [
      ['a', 0.5],
      ['c', 0.5],
      ['b', 0.475],
    ],
  )
  t.equal(fuseScores({ dense, text }, 0, 1)[0]?.id, 'c', 'without weight the dense side has no say')
  t.equal(fuseScores({ dense, text }, 1, 1)[0]?.id, 'a')
  t.same(
    fuseScores({ dense, text: hits() }, 0.1, 3).map(({ id }) => id),
    ['a', 'b', 'c'],
    'a search without hits costs nothing',
  )
  t.same(fuseScores({ dense: hits(), text: hits() }, 0.4, 3), [])
  t.same(
    fuseScores({ dense: hits(['a', 1], ['b', 1]), text: hits() }, 0.4, 3).map(({ score }) => score),
    [0.4, 0.4],
    'equal scores are all the best',
  )
  t.end()
})

await t.test('the last of all passages with a word counts more than passages without one', (t) => {
  const dense = hits(['near', 10], ['far', 9], ['word', 0])
  const text = {
    rows: [
      { id: 'many', score: 6 },
      { id: 'word', score: 4 },
    ],
    complete: true,
  }
  const score = Object.fromEntries(fuseScores({ dense, text }, 0.2, 9).map(({ id, score }) => [id, Math.round(score * 1e4) / 1e4]))
  // 0.8 * 4 / 6, where scaling between the best and the last gives 0.
  t.same(score, { many: 0.8, word: 0.5333, near: 0.2, far: 0.18 })
  t.end()
})

await t.test('a longer list begins with the shorter one', (t) => {
  const list = (name: string, count: number) =>
    hits(...Array.from({ length: count }, (_, i) => [`${name}${i}`, 1000 - i * i * 0.01] as const))
  const order = (depth: number, k: number) =>
    fuseScores(
      {
        dense: list('p', depth),
        text: hits(...list('p', depth).rows.map(({ id, score }, i) => [i % 3 === 0 ? id : `t${i}`, score] as const)),
      },
      0.4,
      k,
    )
      .slice(0, k)
      .map(({ id }) => id)
  const deep = order(300, 300)
  t.same(order(100, 100), deep.slice(0, 100), 'the first hundred do not depend on what is found beyond them')
  t.same(order(100, 7), deep.slice(0, 7))
  t.equal(new Set(deep).size, 300)
  t.end()
})

await t.test('a question for measuring is a sentence from the middle', (t) => {
  t.equal(middleSentence('First one. Second one is here. Third.'), 'Second one is here.')
  t.equal(middleSentence('no sentence end'), 'no sentence end')
  t.equal(middleSentence('  '), '')
  t.equal(middleSentence(Array.from({ length: 500 }, (_, i) => `w${i}`).join(' ')).split(' ').length, 32)
  t.end()
})

/** Passages told apart by words of their own. */
const CORPUS: Passage[] = Array.from({ length: 120 }, (_, i) => ({
  id: `p${i}`,
  title: `Entry ${i}`,
  text: `A common opening. The town of veldor${i} lies near lake quim${i * 7}. A common ending.`,
}))
const questionAbout = (i: number) => `where is veldor${i} by quim${i * 7}`

/** Vectors that say nothing of the text they stand for. */
function noise(): Embed {
  let state = 1
  const next = () => (state = (state * 1_103_515_245 + 12_345) % 2 ** 31) / 2 ** 31 - 0.5
  return (texts) => Promise.resolve(texts.map(() => Float32Array.from({ length: hashEmbedding.dimension }, next)))
}

await t.test('the weaker side costs nothing: the weight is measured on the corpus', async (t) => {
  const weightOf = async (dir: string, storedAs: string) => {
    const connection = await connectLance(dir, 0)
    const { hybrid } = await readMetadata(await connection.openTable(storedAs))
    connection.close()
    return hybrid
  }
  const recall = async (search: (i: number) => Promise<SearchHit[]>) => {
    let found = 0
    for (let i = 0; i < CORPUS.length; i += 4) if ((await search(i)).some(({ id }) => id === `p${i}`)) found++
    return found / (CORPUS.length / 4)
  }
  await t.test('vectors without sense', async (t) => {
    const dir = await tempDir(t)
    const random = noise()
    await planned(dir, 'j1', CORPUS)
    const { storedAs } = await run(dir, 'j1', { embed: random, embedQuestions: random })
    const weight = await weightOf(dir, storedAs)
    t.equal(weight?.rows, 120)
    t.ok((weight?.denseWeight ?? 1) < 0.15, `dense weight ${weight?.denseWeight}`)
    const index = await opened(t, dir)
    const vector = async () => (await random(['']))[0] ?? new Float32Array()
    const text = await recall((i) => index.view().then((view) => view.searchText(questionAbout(i), { k: 5 })))
    t.equal(text, 1)
    t.ok(
      (await recall((i) => index.view().then(async (view) => view.searchHybrid(questionAbout(i), await vector(), { k: 5 })))) >=
        text - 0.01,
    )
    t.ok((await recall(() => index.view().then(async (view) => view.search(await vector(), { k: 5 })))) < 0.5)
  })
  await t.test('good vectors', async (t) => {
    const dir = await tempDir(t)
    await planned(dir, 'j1', CORPUS)
    const { storedAs } = await run(dir, 'j1', { embedQuestions: embed })
    const weight = await weightOf(dir, storedAs)
    t.ok((weight?.denseWeight ?? 0) > 0.3, `dense weight ${weight?.denseWeight}`)
    let asked = 0
    await planned(dir, 'j2', CORPUS.slice(0, 5))
    await run(dir, 'j2', { embedQuestions: (texts, signal) => ((asked += texts.length), embed(texts, signal)) })
    t.equal(asked, 0, 'a table that has not grown is not measured again')
    t.same(await weightOf(dir, storedAs), weight)
    const index = await opened(t, dir)
    t.equal((await index.view().then((view) => view.searchHybrid(questionAbout(8), embedText(questionAbout(8)), { k: 200 })))[0]?.id, 'p8')
  })
  t.ok(DEFAULT_DENSE_WEIGHT > 0 && DEFAULT_DENSE_WEIGHT < 0.5)
})

await t.test('a hybrid search refines as many candidates as its k hits take, whatever the depth that is fused', (t) => {
  const ann = { refine: 14 }
  const candidates = (k: number, sure: number) => k * refineFactor(ann, k, sure)
  t.equal(candidates(10, 10), 160, 'ten hits: as recall was measured, in whole factors')
  t.equal(candidates(FUSED_DEPTH, 10), 200, 'a hundred of which ten are wanted')
  t.equal(candidates(FUSED_DEPTH, FUSED_DEPTH), 1400, 'a hundred that are wanted')
  t.equal(candidates(1, 1), 154)
  t.end()
})

await t.test('a hybrid search gives the passages of the rows it fused, also while the table changes', async (t) => {
  const dir = await tempDir(t)
  await planned(dir, 'j1', CORPUS)
  const { storedAs } = await run(dir, 'j1', { embedQuestions: embed })
  const connection = await connectLance(dir, 0)
  t.teardown(() => connection.close())
  const table = await connection.openTable(storedAs)
  const metadata = await readMetadata(table)
  const asked = { query: questionAbout(7), vector: embedText(questionAbout(7)) }
  const fused = async (filter?: { title: string[] }) => {
    const options = { k: FUSED_DEPTH, ...(filter && { filter }) }
    const dense = await findByVector(withPassages, table, undefined, asked.vector, options)
    const text = await findByWords(withPassages, table, asked.query, options)
    return wholeHits(fuseScores({ dense, text }, metadata.hybrid?.denseWeight ?? DEFAULT_DENSE_WEIGHT, 5), 5)
  }
  t.same(await searchHybrid(table, metadata, asked, { k: 5 }), await fused())
  const filter = { title: ['Entry 7', 'Entry 9', 'Entry 11'] }
  t.same(await searchHybrid(table, metadata, asked, { k: 5, filter }), await fused(filter))
  t.same(await searchHybrid(table, metadata, asked, { k: 5, filter: { title: 'none' } }), [])

  // A version that passes between the searches and the reading of passages: other rows have the numbers that were found.
  const index = await opened(t, dir)
  let versions = 0
  const moving = new Proxy(table, {
    get(target, name) {
      if (name === 'takeRowIds' && versions++ === 0) return () => target.takeRowIds([0, 1, 2, 3, 4])
      if (name === 'version') return () => Promise.resolve(versions)
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
  t.same(await searchHybrid(moving, metadata, asked, { k: 5 }), await fused(), 'the search is done again')

  let writing = true
  const written = (async () => {
    for (let i = 0; i < 12; i++) {
      const some = CORPUS.slice(i * 10, i * 10 + 10)
      await index.upsert(some, await embed(some.map(({ text }) => text)))
      await table.checkoutLatest()
      await committing(table, () => table.optimize())
    }
    writing = false
  })()
  let [searches, wrong] = [0, 0]
  while (writing) {
    for (let i = 0; i < 5; i++) {
      const [best] = await index.view().then((view) => view.searchHybrid(questionAbout(i), embedText(questionAbout(i)), { k: 1 }))
      searches++
      if (best?.id !== `p${i}` || best.text !== CORPUS[i]?.text) wrong++
    }
  }
  await written
  t.equal(wrong, 0, `of ${searches} searches`)
})
