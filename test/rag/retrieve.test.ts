import t from 'tap'
import { modelId, type ContrieverManifest } from '../../models/manifest.ts'
import type { Embedder } from '../../src/inference/contract.ts'
import { retrieve, type PassageSource } from '../../src/rag/retrieve.ts'
import { recordingServices } from '../helpers/recording-services.ts'

/** A model, and a table of it that only takes its vectors. */
function generation(manifest: ContrieverManifest, number: number, onEmbed: () => void = () => undefined) {
  const named = { ...manifest, source: { name: `model-${number}`, revision: String(number).repeat(64) } }
  const id = modelId(named)
  const embedder: Embedder = {
    manifest: named,
    embed: (texts) => {
      onEmbed()
      return Promise.resolve(texts.map(() => Float32Array.of(number, 0)))
    },
  }
  const hits = (vector: Float32Array) => Promise.resolve([{ id: `by-${vector[0]}`, title: '', text: '', score: 1, rank: 1 }])
  const table: Awaited<ReturnType<PassageSource['view']>> = {
    model: { id },
    search: hits,
    searchHybrid: (_, vector) => hits(vector),
    searchText: () => hits(Float32Array.of(0)),
    version: () => Promise.resolve({ table: 'passages', version: number, passages: number }),
  }
  return { id, embedder, table }
}

t.test('a table that is replaced while a question is embedded gets the question in its own model', async (t) => {
  const { manifest } = recordingServices().services.retriever.embedder
  let live = 1
  /** Flips that happen while the next embeddings are made. */
  const flips = [2, 1, 2]
  const embedded: number[] = []
  const [one, two] = [1, 2].map((number) =>
    generation(manifest, number, () => {
      embedded.push(number)
      live = flips.shift() ?? live
    }),
  )
  if (one === undefined || two === undefined) throw new Error('two models')
  const retriever = {
    embedder: one.embedder,
    further: new Map([[two.id, two.embedder]]),
    index: { view: () => Promise.resolve(live === 1 ? one.table : two.table) },
  }
  t.match(await retrieve('q', { k: 1 }, retriever), { hits: [{ id: 'by-2' }], model: two.id, index: { version: 2 } })
  t.same(embedded, [1, 2, 1, 2], 'after each change')
  live = 1
  for (const method of ['dense', 'hybrid'] as const)
    t.match(await retrieve('q', { k: 1, method }, retriever), { hits: [{ id: 'by-1' }], model: one.id, index: { version: 1 } })
  live = 2
  t.match(await retrieve('q', { k: 1, method: 'text' }, retriever), { hits: [{ id: 'by-0' }], model: two.id, index: { version: 2 } })
  t.equal(embedded.length, 6, 'words are not embedded')
  await t.rejects(retrieve('q', { k: 1 }, { ...retriever, index: { view: () => Promise.reject(new Error('no table')) } }), /no table/)
})

t.test('all embeddings of a question share its deadline', async (t) => {
  const { manifest } = recordingServices().services.retriever.embedder
  const [one, two] = [generation(manifest, 1), generation(manifest, 2)]
  const deadlines: number[] = []
  const slow = (embedder: Embedder): Embedder => ({
    ...embedder,
    embed: async (texts, run) => {
      deadlines.push(run.deadlineMs ?? Infinity)
      await new Promise((resolve) => setTimeout(resolve, 30))
      return embedder.embed(texts, run)
    },
  })
  let looks = 0
  const retriever = {
    embedder: slow(one.embedder),
    further: new Map([[two.id, slow(two.embedder)]]),
    index: { view: () => Promise.resolve(looks++ === 0 ? one.table : two.table) },
  }
  await retrieve('q', { k: 1 }, retriever, { deadlineMs: 1000 })
  t.equal(deadlines.length, 2)
  t.ok((deadlines[1] ?? 1000) < (deadlines[0] ?? 0) - 20)
})
