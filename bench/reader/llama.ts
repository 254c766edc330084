/**
 * Compares the shipped pipeline with its decoder and adapters in llama.cpp: latency and exact match of answers about a corpus. The
 * pipeline retrieves k passages and answers as it is shipped, from stored encoder states (each question is asked once before it is
 * timed), but without kept prompts, which would be of that question itself; llama.cpp has the same k passages in its prompt, best
 * first. Questions are asked one at a time, in turns; ratios are of neighbouring runs. A Python with llama-cpp-python, gguf and
 * safetensors is named by --python or LLAMA_PYTHON; without one nothing is measured.
 * Usage: llama.js [--python FILE] [--corpus FILE] [--questions FILE,FILE] [--count 200] [--k 10,20] [--threads 2]
 */
import { spawn } from 'node:child_process'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { Type, type Static, type TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { mean, wilson } from '../../base/at.ts'
import { closing } from '../../base/files.ts'
import { parseJson } from '../../base/json.ts'
import { loadConfig } from '../../src/config.ts'
import { packageRoot } from '../../src/package.ts'
import type { Services } from '../../src/service/services.ts'
import type { Config } from '../../src/settings.ts'
import { renderPassage, renderPrompt } from '../../src/text/prompt.ts'
import { loadTokenizer, type Tokenizer } from '../../src/text/tokenizer.ts'
import { modelId } from '../../models/manifest.ts'
import type { AnswerClient } from '../../eval/client/client.ts'
import { servicesClient, startServices } from '../../eval/client/in-process.ts'
import { type EvalQuestion, spread } from '../../eval/datasets/question-set.ts'
import { readDataset } from '../../eval/datasets/read.ts'
import { demoCorpus, questionFile } from '../../eval/datasets/shipped.ts'
import { bestOver, exactMatch } from '../../eval/metrics/answer.ts'
import { quantile, relativeSpeed } from '../../eval/statistics/bootstrap.ts'
import { benchOptions, machine, table } from '../measure.ts'

const { LLAMA_PYTHON = '' } = process.env
const CHECKPOINT = path.join(packageRoot(), 'models/reader/checkpoint/smollm2-135m-qa')
const BASE = 'SmolLM2-135M-Instruct.Q4_1.gguf'
const options = benchOptions({
  python: LLAMA_PYTHON,
  corpus: demoCorpus(),
  questions: ['test.jsonl', 'free.jsonl'].map(questionFile).join(','),
  count: '200',
  k: '10,20',
  threads: '2',
})
/** Tokens of prompt and answer. */
const WINDOW = 8192

const ReadySchema = Type.Object({ version: Type.String() })
const GeneratedSchema = Type.Object({
  ids: Type.Array(Type.Integer(), { description: 'Without the one that generation stopped at.' }),
  first_ms: Type.Number({ description: 'Until the first token.' }),
  ms: Type.Number({ description: 'Until the last token.' }),
})

type Llama = Awaited<ReturnType<typeof startLlama>>

/**
 * Starts a llama.cpp subprocess (llama.py) with the shipped decoder and its adapters, which answers one request at a time.
 * @param python with llama-cpp-python, gguf and safetensors
 * @throws Error if Python does not start or lacks a package; its own message is on standard error
 */
async function startLlama(python: string) {
  const script = path.join(packageRoot(), 'bench/reader/llama.py')
  const model = [path.join(CHECKPOINT, BASE), path.join(CHECKPOINT, 'reading')]
  const child = spawn(python, [script, ...model, options.text('threads'), String(WINDOW)], { stdio: ['pipe', 'pipe', 'inherit'] })
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
  const { version } = await next(ReadySchema)
  return {
    /** Of llama-cpp-python. */
    version,
    /** Greedy; `stops` are ids that end the answer of at most `tokens` tokens. @throws Error if the process has ended */
    ask: (request: { readonly ids: readonly number[]; readonly stops: readonly number[]; readonly tokens: number }) => {
      child.stdin.write(`${JSON.stringify(request)}\n`)
      return next(GeneratedSchema)
    },
    close: () => void child.stdin.end(),
  }
}

type Asked = Awaited<ReturnType<typeof askBoth>>

interface Contestants {
  readonly client: AnswerClient
  readonly llama: Llama
  readonly tokenizer: Tokenizer
  readonly maxNewTokens: number
}

async function askBoth({ id, question, answers }: EvalQuestion, k: number, { client, llama, tokenizer, maxNewTokens }: Contestants) {
  const request = { question, k, min_confidence: 0 }
  const { passages } = await client.search({ query: question, k })
  await client.answer(request)
  const start = performance.now()
  const own = await client.answer(request)
  const ms = performance.now() - start
  const ids = tokenizer.encode(renderPrompt([], passages.map(renderPassage), question))
  const theirs = await llama.ask({ ids, stops: tokenizer.stopIds('\n'), tokens: maxNewTokens })
  const right = (answer: string): number => bestOver(exactMatch, answer.trim(), answers)
  return {
    id,
    promptTokens: ids.length,
    own: { ms, right: right(own.answer ?? '') },
    llama: { ms: theirs.ms, firstMs: theirs.first_ms, right: right(tokenizer.decode(theirs.ids)) },
  }
}

function rowOf(k: number, asked: readonly Asked[]): string[] {
  const median = (values: readonly number[]): string => (quantile(values, 0.5) / 1000).toFixed(2)
  const share = (rights: readonly number[]): string => {
    const { low, high } = wilson(mean(rights), rights.length)
    return `${mean(rights).toFixed(3)} (${low.toFixed(3)}, ${high.toFixed(3)})`
  }
  const times = (theirs: (llama: Asked['llama']) => number): string => {
    const pairs = asked.map(({ id, own, llama }) => ({ id, base: { tokens: 1, ms: theirs(llama) }, other: { tokens: 1, ms: own.ms } }))
    const speed = relativeSpeed(pairs)
    return speed === undefined ? '-' : `${speed.mean.toFixed(2)}x (${speed.low.toFixed(2)}, ${speed.high.toFixed(2)})`
  }
  return [
    String(k),
    mean(asked.map(({ promptTokens }) => promptTokens)).toFixed(0),
    median(asked.map(({ own }) => own.ms)),
    median(asked.map(({ llama }) => llama.firstMs)),
    median(asked.map(({ llama }) => llama.ms)),
    times(({ ms }) => ms),
    times(({ firstMs }) => firstMs),
    share(asked.map(({ own }) => own.right)),
    share(asked.map(({ llama }) => llama.right)),
  ]
}

const HEADER = [
  'k',
  "tokens in llama.cpp's prompt",
  'seconds for an answer, here',
  'llama.cpp, first token',
  'llama.cpp, answer',
  'answers here, times as fast (95 %)',
  "against llama.cpp's first token",
  'exact match here (95 %)',
  'llama.cpp',
]

function corpusName(): string {
  return path.basename(path.dirname(path.resolve(options.text('corpus'))))
}

/** Service settings with a separate index for this benchmark. */
function settings(): Partial<Record<keyof Config, unknown>> {
  const folder = path.join(packageRoot(), 'eval', 'runs', 'llama', corpusName())
  const [CORPUS, THREADS] = [options.text('corpus'), options.integer('threads')]
  return { INDEX_DIR: folder, JOBS_DIR: path.join(folder, 'jobs'), CORPUS, THREADS, PROMPT_CACHE_MB: 0 }
}

async function compare(services: Services, llama: Llama): Promise<string> {
  const { manifest } = services.answering.reader
  const tokenizer = await loadTokenizer(loadConfig(settings()).READER_DIR, manifest.tokens)
  const contestants = { client: servicesClient(services), llama, tokenizer, maxNewTokens: manifest.qa_defaults.max_new_tokens }
  const files = options.text('questions').split(',')
  const datasets = await Promise.all(files.map((file) => readDataset(file)))
  const all = datasets.flatMap((read) => read.questions)
  const questions = spread(all, options.integer('count'))
  const rows: string[][] = []
  for (const k of options.integers('k')) {
    const asked: Asked[] = []
    for (const question of questions) asked.push(await askBoth(question, k, contestants))
    rows.push(rowOf(k, asked))
  }
  const measured = [
    machine(options.integer('threads')),
    modelId(manifest),
    `llama-cpp-python ${llama.version}, ${BASE} with the adapters`,
    `${questions.length} questions, ${corpusName()}`,
  ]
  return `# Reader compared with llama.cpp, ${new Date().toISOString().slice(0, 10)}\n\n${measured.join('; ')}\n\n${table(HEADER, rows)}`
}

const python = options.text('python')
if (python === '')
  console.log(
    'llama.cpp was not measured: name a Python that has llama-cpp-python, gguf and safetensors (--python FILE or LLAMA_PYTHON=FILE; pip install llama-cpp-python gguf safetensors).',
  )
else {
  await using services = closing(await startServices(settings()))
  await using llama = closing(await startLlama(python))
  console.log(await compare(services, llama))
}
