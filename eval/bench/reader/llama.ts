/**
 * The shipped reader beside its decoder in llama.cpp: seconds to the first token and for a short answer, the same passages. Here a reader
 * with an encoder takes those behind its k_decoder from stored states, and one whose mode is map-rerank reads each passage on its own (all
 * of them: without scores none is left out); llama.cpp has all of them in its prompt. Both are asked in turns; ratios are of neighbouring
 * runs. Answers have as many tokens, except in map-rerank, where each ends by itself and the first token comes with the last. A Python with
 * llama-cpp-python is named by --python or LLAMA_PYTHON; without one nothing is measured. Usage: llama.js [--python FILE] [--k 3,10,20] [--rounds 12] [--threads 2] [--tokens 8]
 */
import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { Type, type Static, type TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { at } from '../../../base/at.ts'
import { parseJson } from '../../../base/json.ts'
import { createProgress } from '../../../src/cli/program/progress.ts'
import { loadConfig } from '../../../src/config.ts'
import { createReader } from '../../../src/inference/pool/models/create-reader.ts'
import { packageRoot } from '../../../src/package.ts'
import { ensureReader } from '../../../src/service/setup.ts'
import { renderPassage, renderPrompt, type PromptPassage } from '../../../src/text/prompt.ts'
import { loadTokenizer, type Tokenizer } from '../../../src/text/tokenizer.ts'
import { modelId, type QaDefaults } from '../../../models/manifest.ts'
import type { AnswerRead } from '../../../src/inference/contract.ts'
import { relativeSpeed } from '../../statistics/speed.ts'
import { benchOptions } from '../arguments.ts'
import { machine, quantile, table } from '../measure.ts'

const { LLAMA_PYTHON = '' } = process.env
const options = benchOptions({
  python: LLAMA_PYTHON,
  gguf: path.join(packageRoot(), 'models/reader/checkpoint/smollm2-135m-qa/SmolLM2-135M-Instruct.Q4_1.gguf'),
  k: '3,10,20',
  rounds: '12',
  threads: '2',
  tokens: '8',
})
const WINDOW = 8192
const QUESTION = 'what is the capital of australia'

const TimesSchema = Type.Object({ first_ms: Type.Number(), ms: Type.Number() })

/** Milliseconds of neighbouring runs. */
interface Pair {
  readonly own: number
  readonly other: number
}

interface Llama {
  readonly version: string
  /** Milliseconds until the first token, and until as many as are measured. */
  ask(ids: readonly number[], tokens: number): Promise<Static<typeof TimesSchema>>
  stop(): void
}

async function startLlama(python: string): Promise<Llama> {
  const script = path.join(packageRoot(), 'eval/bench/reader/llama.py')
  const child = spawn(python, [script, options.text('gguf'), String(options.count('threads')), String(WINDOW)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const failed = new Promise<never>((_, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`${python} ended with exit code ${code}; its message stands above.`)))
  })
  failed.catch(() => undefined)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async <T extends TSchema>(schema: T): Promise<Static<T>> => {
    const line: IteratorResult<string, unknown> = await Promise.race([lines.next(), failed])
    return line.done === true ? failed : Value.Parse(schema, parseJson(line.value))
  }
  const { version } = await next(Type.Object({ version: Type.String() }))
  return {
    version,
    ask: (ids, tokens) => {
      child.stdin.write(`${JSON.stringify({ ids, tokens })}\n`)
      return next(TimesSchema)
    },
    stop: () => void child.stdin.end(),
  }
}

/** Passages of about 100 words: two neighbours of the demo corpus each. */
async function passagesOfCorpus(): Promise<PromptPassage[]> {
  const lines = (await readFile(path.join(packageRoot(), 'index/corpus/passages.tsv'), 'utf8')).trim().split('\n').slice(1)
  const fields = lines.map((line) => line.split('\t'))
  return Array.from({ length: Math.floor(fields.length / 2) }, (_, i) => {
    const [[, first = '', title = ''], [, second = '']] = [at(fields, 2 * i), at(fields, 2 * i + 1)]
    return { title, text: `${first} ${second}` }
  })
}

const seconds = (values: readonly number[]) => (quantile(values, 0.5) / 1000).toFixed(2)

function ratio(pairs: readonly Pair[]): string {
  const speed = relativeSpeed(
    pairs.map(({ own, other }, i) => ({ id: String(i).padStart(4, '0'), base: { tokens: 1, ms: other }, other: { tokens: 1, ms: own } })),
  )
  return speed === undefined ? '-' : `${speed.mean.toFixed(2)}x (${speed.low.toFixed(2)}, ${speed.high.toFixed(2)})`
}

/** What is asked with k passages, and the times that it took. */
interface Timed {
  readonly k: number
  /** Tokens of the prompts, means over the rounds. */
  readonly own: number
  readonly other: number
  readonly first: readonly Pair[]
  readonly answer: readonly Pair[]
}

type Reader = Awaited<ReturnType<typeof createReader>>
interface Contestants {
  readonly reader: Reader
  readonly tokenizer: Tokenizer
  readonly llama: Llama
}

/** A question whose passages are read one at a time. */
function separately(passages: readonly PromptPassage[], protocol: QaDefaults, maxNewTokens: number): AnswerRead {
  return {
    question: QUESTION,
    mode: 'map-rerank',
    passages: passages.map((passage) => ({ ...passage, score: null })),
    kDecoder: protocol.k_decoder,
    encoderPassages: 'others',
    demonstrations: [],
    contextTokens: protocol.context_tokens,
    maxNewTokens,
    packing: 'passages',
    replugTemperature: 1,
    includePrompts: false,
  }
}

/** Asks both in turns, each round with passages of its own. */
async function timesAt(k: number, nextPassage: () => PromptPassage, { reader, tokenizer, llama }: Contestants): Promise<Timed> {
  const [rounds, tokens] = [options.count('rounds'), options.count('tokens')]
  const { qa_defaults: protocol, graphs } = reader.manifest
  const inPrompt = graphs.encoder === null ? k : Math.min(k, protocol.k_decoder)
  const idsOf = (some: readonly PromptPassage[]) => tokenizer.encode(renderPrompt([], some.map(renderPassage), QUESTION))
  const first: Pair[] = []
  const answer: Pair[] = []
  let [own, other] = [0, 0]
  // The first round loads what is loaded late.
  for (let round = -1; round < rounds; round++) {
    const passages = Array.from({ length: k }, nextPassage)
    const [whole, promptIds] = [idsOf(passages), idsOf(passages.slice(0, inPrompt))]
    const contexts = passages.slice(inPrompt).map(renderPassage)
    const ask = async (maxNewTokens: number): Promise<number> => {
      const start = performance.now()
      if (protocol.mode === 'map-rerank') await reader.answer(separately(passages, protocol, maxNewTokens))
      else await reader.generate({ contexts, contextTokens: protocol.context_tokens, promptIds, stopIds: [], maxNewTokens })
      return performance.now() - start
    }
    if (contexts.length > 0) await ask(1)
    const [firstMs, theirs, ms] = [await ask(1), await llama.ask(whole, tokens), await ask(tokens)]
    if (round < 0) continue
    first.push({ own: protocol.mode === 'map-rerank' ? ms : firstMs, other: theirs.first_ms })
    answer.push({ own: ms, other: theirs.ms })
    own += promptIds.length / rounds
    other += whole.length / rounds
  }
  return { k, own, other, first, answer }
}

function rowsOf({ k, own, other, first, answer }: Timed): string[][] {
  return [
    { what: 'first token', pairs: first },
    { what: `${options.count('tokens')} tokens`, pairs: answer },
  ].map(({ what, pairs }) => [
    String(k),
    what,
    own.toFixed(0),
    other.toFixed(0),
    seconds(pairs.map((pair) => pair.own)),
    seconds(pairs.map((pair) => pair.other)),
    ratio(pairs),
  ])
}

async function compare(python: string): Promise<void> {
  const threads = options.count('threads')
  const llama = await startLlama(python)
  const config = loadConfig()
  await ensureReader(config, createProgress)
  const reader = await createReader({ threads, provider: { name: 'cpu' }, modelDir: config.READER_DIR })
  const { bos_id: bosId, eos_ids: eosIds } = reader.manifest.tokens
  const tokenizer = await loadTokenizer(config.READER_DIR, { bosId, eosIds })
  const passages = await passagesOfCorpus()
  let taken = 0
  const nextPassage = () => at(passages, taken++ % passages.length)
  try {
    const rows: string[][] = []
    for (const k of options.counts('k')) rows.push(...rowsOf(await timesAt(k, nextPassage, { reader, tokenizer, llama })))
    console.log(
      `# The reader beside llama.cpp, ${new Date().toISOString().slice(0, 10)}\n\n${machine(threads)}; ${modelId(reader.manifest)}; llama-cpp-python ${llama.version}, ${path.basename(options.text('gguf'))}; medians of ${options.count('rounds')} rounds\n`,
    )
    console.log(table(['k', 'until', 'tokens in the prompt, here', 'llama.cpp', 'seconds here', 'llama.cpp', 'speed of here (95 %)'], rows))
  } finally {
    llama.stop()
    await reader.close()
  }
}

const python = options.text('python')
if (python === '')
  console.log(
    'llama.cpp was not measured: name a Python that has llama-cpp-python (--python FILE or LLAMA_PYTHON=FILE; pip install llama-cpp-python).',
  )
else await compare(python)
