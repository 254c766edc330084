import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { at } from '../../base/at.ts'
import { buildModel } from '../../models/build.ts'
import { DTYPES } from '../../models/dtypes.ts'
import type { CepeManifest } from '../../models/manifest.ts'
import { argMax, emptyCache, emptyPhi, floatsOf, int64, ones, openModel, output } from '../helpers/open-model.ts'
import { openTokenizer } from '../../models/tokenizer/codec.ts'
import { tokenizerFiles } from '../../models/tokenizer/files.ts'
import { createEmbedder } from '../../src/inference/pool/models/create-embedder.ts'
import { createReader } from '../../src/inference/pool/models/create-reader.ts'
import { wrapped, type Turn } from '../../src/text/chat-template.ts'
import { loadTokenizer, type Tokenizer } from '../../src/text/tokenizer.ts'
import { root } from '../helpers/root.ts'
import { SKIPS } from '../helpers/skips.ts'

/**
 * Published weights against what transformers makes of the same files (record.py). `npm run test:published`; no part of `npm test`.
 * PUBLISHED_CACHE: folder of downloads and builds. PUBLISHED_WHEELS: folder of wheels that are already there. PUBLISHED_MODELS and
 * PUBLISHED_DTYPES: lists of what to test.
 */
const { PUBLISHED_CACHE, PUBLISHED_WHEELS, PUBLISHED_MODELS, PUBLISHED_DTYPES } = process.env
const CACHE = PUBLISHED_CACHE ?? path.join(homedir(), '.cache', 'cepe-published')
const FOLDER = path.join(root, 'test/published')
/** fetch.py's exit code where the package index cannot be reached. */
const UNREACHABLE = 3

type Dtype = (typeof DTYPES)[number]
/** What a precision may change. */
interface Tolerance {
  /** Least share of places with the recorded likeliest token, in percent. */
  readonly same: number
  /** A greedy answer must have the recorded tokens up to the first that was less ahead of the next, in logits. */
  readonly lead: number
}
const EXACT: Tolerance = { same: 100, lead: 0.001 }
/** Of logits of 10 to 30. */
const F32_ATOL = 2e-4
const TOLERANCES: Readonly<Record<Dtype, Tolerance>> = {
  f32: EXACT,
  f16: { same: 98, lead: 0.5 },
  int8: { same: 85, lead: 3 },
  'int8-blocks': { same: 95, lead: 1 },
  'int8+int4': { same: 85, lead: 3 },
  // Measured for int4 on Qwen's 0.5B alone: 82 % and a lead of 0.9.
  int4: { same: 55, lead: 6 },
  'f16-int4': { same: 55, lead: 6 },
}
const LEAST_COSINE: Readonly<Record<Dtype, number>> = {
  ...{ f32: 0.999_999, f16: 0.9999, int8: 0.98, 'int8-blocks': 0.999 },
  ...{ 'int8+int4': 0.98, int4: 0.9, 'f16-int4': 0.9 },
}

interface Prompt {
  readonly prompt: string
  readonly text: string
  readonly ids: readonly number[]
  /** Ids that end the answer. */
  readonly ends: readonly number[]
  /** At each place of the prompt. */
  readonly likeliest: readonly number[]
  /** After the prompt. */
  readonly top: { readonly ids: readonly number[]; readonly logits: readonly number[]; readonly log_sum: number }
  readonly generated: readonly number[]
  /** How far each generated token was ahead of the next, in logits. */
  readonly leads: readonly number[]
  readonly answer: string
}
interface DecoderGolden {
  readonly tokens: readonly (readonly [text: string, ids: readonly number[]])[]
  readonly chats: readonly (readonly [turns: readonly Turn[], rendered: string])[]
  readonly prompts: readonly Prompt[]
}
interface RetrieverGolden extends Pick<DecoderGolden, 'tokens'> {
  readonly texts: readonly string[]
  readonly vectors: readonly (readonly number[])[]
}
interface PublishedModel {
  readonly file?: string
  /** Those that fit 16 GB of memory, and the range of half precision; all where absent. */
  readonly dtypes?: readonly Dtype[]
}

t.setTimeout(0)
const known = JSON.parse(await readFile(path.join(FOLDER, 'models.json'), 'utf8')) as Record<string, PublishedModel>
const listed = (words: string | undefined) => words?.split(',').map((word) => word.trim())
const wanted = listed(PUBLISHED_MODELS) ?? Object.keys(known)

for (const name of wanted) {
  const model = known[name]
  if (model === undefined) throw new Error(`PUBLISHED_MODELS takes ${Object.keys(known).join(', ')}, not ${name}`)
  await t.test(name, async (t) => {
    const dtypes = (model.dtypes ?? DTYPES).filter((dtype) => listed(PUBLISHED_DTYPES)?.includes(dtype) ?? true)
    const recorded = path.join(FOLDER, 'golden', `${name}.json`)
    if (!existsSync(recorded)) return t.plan(0, `${name} has no recorded outputs (record.py)`)
    const golden = JSON.parse(await readFile(recorded, 'utf8')) as DecoderGolden | RetrieverGolden
    const checkpointDir = await fetched(name)
    if (checkpointDir === undefined) return t.plan(0, SKIPS.packageIndex)
    for (const dtype of dtypes) {
      await t.test(dtype, async (t) => {
        const dir = path.join(CACHE, 'built', `${name}-${dtype}`)
        t.teardown(() => rm(dir, { recursive: true, force: true }))
        const manifest = await buildModel({ checkpointDir, outDir: dir, dtype })
        if ('vectors' in golden) return compareVectors(t, { dir, dtype }, golden)
        if (manifest.architecture !== 'cepe') throw new Error(`${name} is no reader`)
        await compareText(t, { dir, manifest }, golden)
        await comparePlaces(t, { dir, manifest, dtype }, golden)
        await compareAnswers(t, { dir, manifest, dtype }, golden)
      })
    }
  })
}

/** The model's file or folder; undefined without a network. */
async function fetched(name: string): Promise<string | undefined> {
  const script = [path.join(FOLDER, 'fetch.py'), name, CACHE, ...(PUBLISHED_WHEELS === undefined ? [] : [PUBLISHED_WHEELS])]
  const child = spawn('python3', script, { stdio: ['ignore', 'pipe', 'inherit'] })
  let printed = ''
  child.stdout.on('data', (part: Buffer) => (printed += part.toString()))
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve))
  if (code === UNREACHABLE) return undefined
  if (code !== 0) throw new Error(`fetch.py ended with exit code ${String(code)}; its message stands above`)
  return printed.trim()
}

interface Built {
  readonly dir: string
  readonly manifest: CepeManifest
  readonly dtype: Dtype
}

function tokenizerOf({ dir, manifest: { tokens } }: Omit<Built, 'dtype'>): Promise<Tokenizer> {
  return loadTokenizer(dir, tokens)
}

async function compareText(t: Test, built: Omit<Built, 'dtype'>, { tokens, chats, prompts }: DecoderGolden): Promise<void> {
  const tokenizer = await tokenizerOf(built)
  for (const [text, ids] of tokens) t.same(tokenizer.encode(text, { bos: true }), ids, `ids of ${JSON.stringify(text)}`)
  const asked = prompts.map(({ prompt, text }) => [[{ role: 'user', content: prompt }], text] as const)
  for (const [turns, rendered] of chats.length === 0 ? [] : [...chats, ...asked]) {
    const last = at(turns, turns.length - 1)
    t.equal(wrapped(tokenizer.chatWrap('tokenizer', turns.slice(0, -1)), last.content), rendered, 'the chat template')
  }
  for (const { text, ids } of prompts) t.same(tokenizer.encode(text, { bos: chats.length === 0 }), ids, 'ids of the prompt')
}

async function comparePlaces(t: Test, { dir, manifest, dtype }: Built, { prompts }: DecoderGolden): Promise<void> {
  const model = await openModel(dir)
  const { vocab_size: vocabulary } = manifest.dims
  let [same, places, farthest] = [0, 0, 0]
  try {
    for (const { ids, likeliest, top } of prompts) {
      const outputs = await model.run(manifest.graphs.step, {
        input_ids: int64(BigInt64Array.from(ids, BigInt), [1, ids.length]),
        attention_mask: int64(ones(ids.length), [1, ids.length]),
        phi: emptyPhi(manifest),
        ...emptyCache(manifest, 1),
      })
      const logits = floatsOf(output(outputs, 'logits'))
      const row = (i: number) => logits.subarray(i * vocabulary, (i + 1) * vocabulary)
      places += ids.length
      same += likeliest.filter((id, i) => argMax(row(i)) === id).length
      const last = row(ids.length - 1)
      const most = last.reduce((a, b) => Math.max(a, b))
      const logSum = most + Math.log(last.reduce((sum, logit) => sum + Math.exp(logit - most), 0))
      const differences = top.ids.map((id, i) => Math.abs(at(last, id) - at(top.logits, i)))
      farthest = Math.max(farthest, Math.abs(logSum - top.log_sum), ...differences)
    }
  } finally {
    await model[Symbol.asyncDispose]()
  }
  const share = (100 * same) / places
  t.comment(`likeliest token equal at ${same} of ${places} places (${share.toFixed(2)} %); logits differ by ${farthest.toExponential(1)}`)
  t.ok(share >= TOLERANCES[dtype].same, `likeliest tokens: ${share.toFixed(2)} %`)
  if (dtype === 'f32') t.ok(farthest < F32_ATOL, `logits: ${farthest}`)
}

async function compareAnswers(t: Test, { dir, manifest, dtype }: Built, { prompts }: DecoderGolden): Promise<void> {
  const tokenizer = await tokenizerOf({ dir, manifest })
  const reader = await createReader({ modelDir: dir })
  t.teardown(() => reader.close({ drainMs: 0 }))
  let [same, length, equal] = [0, 0, 0]
  for (const { ids: promptIds, ends: stopIds, generated, leads, answer } of prompts) {
    const request = { contexts: [], contextTokens: 1, promptIds, stopIds, maxNewTokens: generated.length }
    const { tokenIds } = await reader.generate(request)
    const apart = generated.findIndex((id, i) => tokenIds[i] !== id)
    same += apart === -1 ? generated.length : apart
    length += generated.length
    if (apart === -1) {
      equal += 1
      t.equal(tokenizer.decode(tokenIds), answer, 'text of the answer')
    } else {
      const lead = at(leads, apart)
      t.ok(lead < TOLERANCES[dtype].lead, `token ${apart + 1} of ${JSON.stringify(answer)} differs, which was ${lead} ahead`)
    }
  }
  t.comment(`greedy answers equal: ${equal} of ${prompts.length}; ${same} of ${length} tokens before they part`)
}

async function compareVectors(t: Test, { dir, dtype }: Omit<Built, 'manifest'>, golden: RetrieverGolden): Promise<void> {
  const { tokens, texts, vectors } = golden
  const tokenizer = openTokenizer(await tokenizerFiles(dir))
  for (const [text, ids] of tokens) t.same(tokenizer.encode(text).ids, ids, `ids of ${JSON.stringify(text)}`)
  const embedder = await createEmbedder({ modelDir: dir })
  t.teardown(() => embedder.close({ drainMs: 0 }))
  const embedded = await embedder.embed(texts, { priority: 'bulk' })
  const dot = (a: ArrayLike<number>, b: ArrayLike<number>) => Array.from(a).reduce((sum, value, i) => sum + value * at(b, i), 0)
  const cosines = vectors.map((vector, i) => {
    const own = at(embedded, i)
    return dot(own, vector) / Math.sqrt(dot(own, own) * dot(vector, vector))
  })
  const least = Math.min(...cosines)
  const farthest = Math.max(...vectors.flatMap((vector, i) => vector.map((value, j) => Math.abs(value - at(at(embedded, i), j)))))
  t.comment(`least cosine ${least.toFixed(6)}; numbers differ by ${farthest.toExponential(1)}`)
  t.ok(least >= LEAST_COSINE[dtype], `least cosine: ${least}`)
  if (dtype === 'f32') t.ok(farthest < 2e-5, `numbers: ${farthest}`)
}
