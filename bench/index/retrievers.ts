/**
 * Recall of retrievers by each search method, and their processor time, on the same passages and questions in one run.
 * Usage: retrievers.js --models built/a,built/b --passages passages.tsv --questions questions.jsonl [--limit 300]
 */
import { join } from 'node:path'
import { at } from '../../base/at.ts'
import { spread, type EvalQuestion } from '../../eval/datasets/question-set.ts'
import { readDataset } from '../../eval/datasets/read.ts'
import { answerFinder } from '../../eval/metrics/retrieval.ts'
import { passageText, type Embed, type Passage, type SearchHit } from '../../index/contract.ts'
import { contentHash } from '../../index/hash.ts'
import { readPassageFile } from '../../index/read/read.ts'
import { buildIndexes } from '../../index/search/ann.ts'
import { searchHybrid } from '../../index/search/hybrid.ts'
import { measureDenseWeight } from '../../index/search/hybrid-weight.ts'
import { searchVector, searchWords } from '../../index/search/search.ts'
import { createTable } from '../../index/table/create.ts'
import { connectLance } from '../../index/table/lance.ts'
import { readMetadata } from '../../index/table/metadata.ts'
import { packVectors } from '../../index/table/rows.ts'
import { appendRows, chunks } from '../../index/table/write.ts'
import { loadContrieverManifest } from '../../models/folder.ts'
import { modelId } from '../../models/manifest.ts'
import { ALONE } from '../../src/inference/batches.ts'
import { createEmbedderTasks } from '../../src/inference/worker/tasks/encoder-tasks.ts'
import { benchOptions } from '../arguments.ts'
import { inFolder, machine, table as formatted } from '../measure.ts'

const DEPTHS = [1, 5, 20]
/** Passages that one model embeds before the next one: other load then affects all models. */
const TURN = 16

interface Retriever {
  readonly id: string
  readonly prompt: string
  readonly dimension: number
  readonly embed: Embed
  readonly vectors: Float32Array[]
  /** Milliseconds of processor time for all passages. */
  milliseconds: number
}

async function loaded(modelDir: string): Promise<Retriever> {
  const manifest = await loadContrieverManifest(modelDir)
  const dimension = manifest.dims.hidden_size
  const options = { modelDir, threads: 1, provider: { name: 'cpu' }, prepackDir: null, batchTokens: ALONE } as const
  const { embed } = await createEmbedderTasks({ role: 'embedder', ...options }, () => undefined)
  if (embed === undefined) throw new Error('an embedder has this task. This is a bug.')
  return {
    ...{ id: modelId(manifest), prompt: manifest.embedding?.query_prompt ?? '', dimension, vectors: [], milliseconds: 0 },
    embed: async (texts) => {
      const all = await embed(texts, () => Promise.resolve())
      return texts.map((_, i) => all.slice(i * dimension, (i + 1) * dimension))
    },
  }
}

/** Shares of questions with a relevant passage among the first hits: their own, or, if they name none, one that contains an answer. */
function recalls(questions: readonly EvalQuestion[], found: readonly (readonly SearchHit[])[]): string[] {
  const ranks = questions.map(({ answers, goldPassage }, i) => {
    const holdsAnswer = answerFinder(answers)
    return at(found, i).find(({ id, text }) => (goldPassage === undefined ? holdsAnswer(text) : id === goldPassage))?.rank ?? Infinity
  })
  return DEPTHS.map((depth) => (ranks.filter((rank) => rank <= depth).length / ranks.length).toFixed(3))
}

async function measured(dir: string, retriever: Retriever, passages: readonly Passage[], questions: readonly EvalQuestion[]) {
  const connection = await connectLance(dir, 0)
  const { id, dimension, vectors, embed, prompt } = retriever
  const stored = await createTable(connection, 'passages.a', { id, dimension })
  await appendRows(stored, { passages, hashes: passages.map(contentHash), halves: packVectors(passages, vectors, dimension) }, dimension)
  const asQuestions: Embed = (texts) => embed(texts.map((text) => prompt + text))
  await buildIndexes(stored)
  const weight = await measureDenseWeight(stored, asQuestions)
  const metadata = await readMetadata(stored)
  const asked = await asQuestions(questions.map(({ question }) => question))
  const k = { k: Math.max(...DEPTHS) }
  const searches: Readonly<Record<string, (query: string, vector: Float32Array) => Promise<SearchHit[]>>> = {
    dense: (_, vector) => searchVector(stored, metadata.ann, vector, k),
    words: (query) => searchWords(stored, query, k),
    [`hybrid (dense weight ${weight.toFixed(2)})`]: (query, vector) => searchHybrid(stored, metadata, { query, vector }, k),
  }
  const rows: string[][] = []
  for (const [method, search] of Object.entries(searches)) {
    const found: SearchHit[][] = []
    for (const [i, { question }] of questions.entries()) found.push(await search(question, at(asked, i)))
    rows.push([id, method, ...recalls(questions, found), (retriever.milliseconds / passages.length).toFixed(1)])
  }
  connection.close()
  return rows
}

const options = benchOptions({ models: '', passages: '', questions: '', limit: '300' })
const passages: Passage[] = []
for await (const item of readPassageFile(options.text('passages'))) if ('passage' in item) passages.push(item.passage)
const questions = spread((await readDataset(options.text('questions'))).questions, options.count('limit'))
const retrievers = await Promise.all(options.text('models').split(',').map(loaded))
for (const some of chunks(passages, TURN)) {
  for (const retriever of retrievers) {
    const before = process.cpuUsage()
    retriever.vectors.push(...(await retriever.embed(some.map(passageText))))
    const { user, system } = process.cpuUsage(before)
    retriever.milliseconds += (user + system) / 1000
  }
}
console.log(`${machine(1)}\n\n${passages.length} passages, ${questions.length} questions\n`)
await inFolder(async (folder) => {
  const rows: string[][] = []
  for (const [i, retriever] of retrievers.entries()) rows.push(...(await measured(join(folder, String(i)), retriever, passages, questions)))
  console.log(formatted(['retriever', 'method', ...DEPTHS.map((depth) => `recall@${depth}`), 'processor ms a passage'], rows))
})
