import { join } from 'node:path'
import { loadContrieverManifest } from '../../../models/folder.ts'
import { loadConfig } from '../../../src/config.ts'
import type { AnswerResponse } from '../../../src/rag/schema.ts'
import { mean } from '../../statistics/bootstrap.ts'
import { fastest, int64, openSession } from '../measure.ts'
import { buildShape, makeShape, type ShapeName } from '../reader/whole-shape.ts'
import { send } from './load.ts'
import type { Row, Settings } from './parts.ts'
import { startServer } from './server.ts'

const K = 10
/** Passages in the prompt of the wide model, which has no protocol of its own. */
const K_DECODER = 2
/** Approximate tokens of a question, and repetitions of its embedding. */
const QUESTION_TOKENS = 16
const EMBEDDINGS = 20
const DTYPE = 'int4'

type Timings = AnswerResponse['timings_ms']
interface Asked extends Timings {
  /** Measured at the client. */
  readonly wall: number
}

export interface OverheadOptions {
  readonly settings: Settings
  readonly questions: readonly string[]
  readonly folder: string
  readonly shape: ShapeName
  readonly threads: number
}

/**
 * Overhead of a question beside the runs of graphs: HTTP, messages between processes, tokenising, searching, planning and evidence. The
 * client's time minus the stages `encode` and `generate` and one run of the retriever's graph; for wide random weights and for the shipped
 * model.
 */
export async function overhead({ settings, questions, folder, shape, threads }: OverheadOptions): Promise<Row[]> {
  const embedMs = await embeddingMs(threads)
  const small = await askTwice({ ...settings, CEPE_INDEX_DIR: join(folder, 'asked') }, questions, {})
  const made = await makeShape(folder, shape, [DTYPE])
  const built = join(folder, DTYPE)
  await buildShape(made, built, DTYPE)
  const own = { CEPE_INDEX_DIR: join(folder, 'asked'), CEPE_READER_DIR: built, CEPE_READER_CHECKPOINT: made.dir }
  const wide = await askTwice({ ...settings, ...own }, questions, { k_decoder: K_DECODER, demonstrations: 0 })
  const { decoder, encoder } = made.config
  return [
    [
      `HTTP and pipeline beyond the graphs' runs: d_dec ${decoder.hiddenSize} x ${decoder.layers} layers, d_enc ${encoder.hiddenSize} x ${encoder.layers}, ${DTYPE}, k = ${K}`,
      '<= 5 % of an answer',
      `${described(wide.first, embedMs)}; asked again: ${described(wide.again, embedMs)}`,
    ],
    ['the same, shipped model', '-', `${described(small.first, embedMs)}; asked again: ${described(small.again, embedMs)}`],
  ]
}

/** Asks every question with nothing encoded, then all of them again. */
async function askTwice(settings: Settings, questions: readonly string[], more: object): Promise<{ first: Asked[]; again: Asked[] }> {
  const server = await startServer(settings)
  const ask = async (question: string): Promise<Asked> => {
    const { status, body, ms } = await send(server.url, { path: '/v1/answer', body: { question, k: K, ...more } })
    if (status !== 200) throw new Error(`a question was answered ${status}: ${String(body)}`)
    return { ...(JSON.parse(String(body)) as AnswerResponse).timings_ms, wall: ms }
  }
  const all = async (): Promise<Asked[]> => {
    const asked: Asked[] = []
    for (const question of questions) asked.push(await ask(question))
    return asked
  }
  try {
    // The first request compiles schemas, opens the table and connects.
    await ask('what is asked first')
    return { first: await all(), again: await all() }
  } finally {
    await server.stop()
  }
}

/** One run of the shipped retriever's graph on a question. */
async function embeddingMs(threads: number): Promise<number> {
  const { RETRIEVER_DIR: dir } = loadConfig()
  const { graphs } = await loadContrieverManifest(dir)
  const session = await openSession(join(dir, graphs.embed), threads)
  const shape = [1, QUESTION_TOKENS]
  const ids = Array.from({ length: QUESTION_TOKENS }, (_, i) => 1000 + i)
  const feeds = {
    input_ids: int64(ids, shape),
    attention_mask: int64(
      ids.map(() => 1),
      shape,
    ),
  }
  try {
    return await fastest(EMBEDDINGS, () => session.run(feeds))
  } finally {
    await session.release()
  }
}

/** Overhead and its parts, means over the questions. */
function described(asked: readonly Asked[], embedMs: number): string {
  const of = (value: (one: Asked) => number): number => mean(asked.map(value))
  const beyond = of(({ wall, encode, generate }) => wall - encode - generate) - embedMs
  const wall = of((one) => one.wall)
  const parts = [
    ['embedding beyond its run', of(({ embed }) => embed) - embedMs],
    ['search', of(({ retrieve }) => retrieve)],
    ['queue', of(({ queue }) => queue)],
    ['plan', of(({ plan }) => plan)],
    [
      'evidence and messages',
      of(({ total, embed, retrieve, queue, plan, encode, generate }) => total - embed - retrieve - queue - plan - encode - generate),
    ],
    ['HTTP', of((one) => one.wall - one.total)],
  ] as const
  const named = parts.map(([name, ms]) => `${name} ${ms.toFixed(1)}`).join(', ')
  return `${beyond.toFixed(1)} of ${wall.toFixed(wall < 100 ? 1 : 0)} ms, ${((100 * beyond) / wall).toFixed(1)} % (${named})`
}
