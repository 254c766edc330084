import type { Tensor } from './runtime.ts'
import { at } from '../base/at.ts'
import { unsupported } from './errors.ts'
import { compareFloats, compareIds, readGolden, type Difference, type Golden, type Verification } from './golden.ts'
import {
  argMax,
  emptyPhi,
  floatsOf,
  idsOf,
  int64,
  isReader,
  isRetriever,
  logSoftmax,
  ones,
  openModel,
  output,
  stepDecoder,
  type Feeds,
  type OpenReader,
  type OpenRetriever,
} from './open-model.ts'

function lastRows(logits: Tensor): readonly Float32Array[] {
  const [rows = 0, length = 0, vocabulary = 0] = logits.dims
  return Array.from({ length: rows }, (_, row) =>
    floatsOf(logits).subarray((row * length + length - 1) * vocabulary, (row + 1) * length * vocabulary),
  )
}

interface Greedy {
  readonly ids: BigInt64Array
  readonly logprobs: Float32Array
}

/** Greedy decoding through the step graph, from the logits of the prompt; `mix` combines the rows' distributions. */
async function decodeBySteps(
  step: ReturnType<typeof stepDecoder>,
  first: Tensor,
  golden: Golden,
  mix: (rows: readonly Float32Array[]) => Float32Array,
): Promise<Greedy> {
  const stops = golden.ints('stop_ids').data
  const most = Number(golden.ints('max_new_tokens').data[0])
  const ids: bigint[] = []
  const logprobs: number[] = []
  let logits = first
  for (;;) {
    const rows = lastRows(logits)
    const distribution = mix(rows)
    const best = argMax(distribution)
    ids.push(BigInt(best))
    logprobs.push(distribution[best] ?? Number.NaN)
    if (ids.length >= most || stops.includes(BigInt(best))) return { ids: BigInt64Array.from(ids), logprobs: Float32Array.from(logprobs) }
    logits = await step(new BigInt64Array(rows.length).fill(BigInt(best)), ones(rows.length))
  }
}

function compareGreedy(golden: Golden, graph: string, { ids, logprobs }: Greedy, atol: number): Difference[] {
  return [
    compareIds('generated_ids', graph, golden.ints('generated_ids').data, ids),
    compareFloats({ tensor: 'generated_logprobs', graph }, golden.floats('generated_logprobs').data, logprobs, atol),
  ]
}

/** Retrieval-weighted mixture (RePlug, Shi et al. 2024): log sum_i softmax(scores / temperature)_i p_i, from each row's logits. */
function mixtureOf(scores: Float32Array, temperature: number) {
  const weights = logSoftmax(scores.map((score) => score / temperature))
  return (rows: readonly Float32Array[]): Float32Array => {
    const logprobs = rows.map(logSoftmax)
    return Float32Array.from(at(logprobs, 0), (_, token) =>
      Math.log(logprobs.reduce((sum, row, i) => sum + Math.exp(at(weights, i) + (row[token] as number)), 0)),
    )
  }
}

async function verifyReplug(model: OpenReader, golden: Golden, atol: number): Promise<Difference[]> {
  const { data: ids, shape } = golden.ints('input_ids')
  const step = stepDecoder(model, emptyPhi(model.manifest), at(shape, 0))
  const mix = mixtureOf(golden.floats('context_scores').data, golden.floats('temperature').data.at(0) ?? 1)
  const prompt = await step(ids, golden.ints('attention_mask').data)
  return [
    compareFloats({ tensor: 'first_logprobs', graph: 'step' }, golden.floats('first_logprobs').data, mix(lastRows(prompt)), atol),
    ...compareGreedy(golden, 'step', await decodeBySteps(step, prompt, golden, mix), atol),
  ]
}

function textInputs(golden: Golden, prefix: '' | 'encoder_'): Feeds {
  const [ids, mask] = [golden.ints(`${prefix}input_ids`), golden.ints(`${prefix}attention_mask`)]
  return { input_ids: int64(ids.data, ids.shape), attention_mask: int64(mask.data, mask.shape) }
}

/** phi through the encoder, and the states at unmasked tokens against it. */
async function verifyEncoder(model: OpenReader, golden: Golden, atol: number): Promise<{ phi: Tensor; differences: Difference[] }> {
  const { manifest } = model
  if (!golden.has('encoder_input_ids') || manifest.graphs.encoder === null) return { phi: emptyPhi(manifest), differences: [] }
  const phi = output(await model.run(manifest.graphs.encoder, textInputs(golden, 'encoder_')), 'phi')
  const states = golden.floats('encoder_hidden_states')
  const width = states.shape.at(-1) ?? 0
  const mask = golden.ints('encoder_attention_mask').data
  const kept = states.data.filter((_, i) => mask[Math.floor(i / width)] === 1n)
  return { phi, differences: [compareFloats({ tensor: 'encoder_hidden_states', graph: 'encoder' }, kept, floatsOf(phi), atol)] }
}

async function verifyReader(model: OpenReader, golden: Golden, atol: number): Promise<Difference[]> {
  if (golden.has('context_scores')) return verifyReplug(model, golden, atol)
  const { phi, differences } = await verifyEncoder(model, golden, atol)
  const { data: ids, shape } = golden.ints('input_ids')
  const step = stepDecoder(model, phi, 1)
  const prompt = await step(ids, ones(ids.length))
  const generated = await model.run(model.manifest.graphs.generate, {
    input_ids: int64(ids, shape),
    phi,
    stop_ids: int64(golden.ints('stop_ids').data, golden.ints('stop_ids').shape),
    max_new_tokens: int64(golden.ints('max_new_tokens').data, []),
  })
  return [
    ...differences,
    compareFloats({ tensor: 'logits', graph: 'step' }, golden.floats('logits').data, floatsOf(prompt), atol),
    ...compareGreedy(golden, 'step', await decodeBySteps(step, prompt, golden, ([row]) => logSoftmax(row ?? new Float32Array())), atol),
    ...compareGreedy(
      golden,
      'generate',
      { ids: idsOf(output(generated, 'tokens')), logprobs: floatsOf(output(generated, 'logprobs')) },
      atol,
    ),
  ]
}

async function verifyEmbedder(model: OpenRetriever, golden: Golden, atol: number): Promise<Difference[]> {
  const embedding = output(await model.run(model.manifest.graphs.embed, textInputs(golden, '')), 'embedding')
  return [compareFloats({ tensor: 'embedding', graph: 'embed' }, golden.floats('embedding').data, floatsOf(embedding), atol)]
}

/**
 * Runs a built model on golden files of the reference implementation and compares encoder states where the mask is 1, the prompt's logits,
 * greedy ids and log-probabilities through the step and the generate graph, RePlug's mixture, embeddings. `atol` is the largest absolute
 * difference allowed; ids must be equal.
 * @throws model_invalid for a folder without built model; checkpoint_invalid for a golden file without a required tensor
 */
export async function verifyGolden(builtDir: string, goldenFiles: readonly string[], atol: number): Promise<readonly Verification[]> {
  await using model = await openModel(builtDir)
  if (!isReader(model) && !isRetriever(model))
    throw unsupported(`${builtDir} is a cross-encoder; golden files are of readers and retrievers`)
  const results: Verification[] = []
  for (const path of goldenFiles) {
    const golden = await readGolden(path)
    const differences = await (isReader(model) ? verifyReader(model, golden, atol) : verifyEmbedder(model, golden, atol))
    results.push({ golden: golden.file, atol, differences, ok: differences.every(({ ok }) => ok) })
  }
  return results
}

/** Token ids for the encoder, per passage, and for the decoder. A retriever uses the passages only. */
export interface Sample {
  readonly contexts: readonly (readonly number[])[]
  readonly prompt: readonly number[]
}

function paddedRows(rows: readonly (readonly number[])[]): Record<string, Tensor> {
  const length = Math.max(...rows.map((row) => row.length))
  const shape = [rows.length, length]
  const cells = rows.flatMap((row) => Array.from({ length }, (_, i) => row[i]))
  const ids = BigInt64Array.from(cells, (id) => BigInt(id ?? 0))
  const mask = BigInt64Array.from(cells, (id) => (id === undefined ? 0n : 1n))
  return { input_ids: int64(ids, shape), attention_mask: int64(mask, shape) }
}

async function readPrompt(model: OpenReader, { contexts, prompt }: Sample): Promise<{ phi: Tensor; logits: Tensor }> {
  const { manifest } = model
  const phi =
    manifest.graphs.encoder !== null && contexts.length > 0
      ? output(await model.run(manifest.graphs.encoder, paddedRows(contexts)), 'phi')
      : emptyPhi(manifest)
  return { phi, logits: await stepDecoder(model, phi, 1)(BigInt64Array.from(prompt, BigInt), ones(prompt.length)) }
}

/** Kullback-Leibler divergence sum p (ln p - ln q), from log-probabilities. */
function divergence(p: Float32Array, q: Float32Array): number {
  let sum = 0
  for (let i = 0; i < p.length; i++) sum += Math.exp(p[i] as number) * ((p[i] as number) - (q[i] as number))
  return sum
}

function squares(values: Float32Array, minus?: Float32Array): number {
  let sum = 0
  for (let i = 0; i < values.length; i++) sum += ((values[i] as number) - (minus ? (minus[i] as number) : 0)) ** 2
  return sum
}

async function compareReaders(one: OpenReader, other: OpenReader, samples: readonly Sample[]) {
  const divergences: number[] = []
  let same = 0
  let [apart, size] = [0, 0]
  for (const sample of samples) {
    const [ours, theirs] = [await readPrompt(one, sample), await readPrompt(other, sample)]
    apart += squares(floatsOf(ours.phi), floatsOf(theirs.phi))
    size += squares(floatsOf(theirs.phi))
    const vocabulary = one.manifest.dims.vocab_size
    for (let from = 0; from < floatsOf(ours.logits).length; from += vocabulary) {
      const distribution = ({ logits }: { logits: Tensor }): Float32Array => logSoftmax(floatsOf(logits).subarray(from, from + vocabulary))
      const [p, q] = [distribution(theirs), distribution(ours)]
      divergences.push(divergence(p, q))
      if (argMax(p) === argMax(q)) same++
    }
  }
  const sorted = [...divergences].sort((a, b) => a - b)
  return {
    kind: 'reader' as const,
    /** Number of next-token distributions compared, one per prompt token. */
    tokens: sorted.length,
    /** Kullback-Leibler divergence of the other build's distribution from this one's, in nats. */
    meanKl: sorted.reduce((a, b) => a + b, 0) / sorted.length,
    p99Kl: at(sorted, Math.ceil(0.99 * sorted.length) - 1),
    /** Share of tokens with equal most likely choices. */
    sameChoice: same / sorted.length,
    /** |difference| / |the other's| of encoder states; 0 without contexts. */
    states: size === 0 ? 0 : Math.sqrt(apart / size),
  }
}

async function compareRetrievers(one: OpenRetriever, other: OpenRetriever, samples: readonly Sample[]) {
  const cosines: number[] = []
  for (const text of samples.flatMap(({ contexts }) => contexts)) {
    const embed = async ({ run, manifest }: OpenRetriever): Promise<Float32Array> =>
      floatsOf(output(await run(manifest.graphs.embed, paddedRows([text])), 'embedding'))
    const [a, b] = [await embed(one), await embed(other)]
    const dot = a.reduce((sum, value, i) => sum + value * at(b, i), 0)
    cosines.push(dot / Math.sqrt(squares(a) * squares(b)))
  }
  return {
    kind: 'retriever' as const,
    texts: cosines.length,
    /** Lowest cosine of a text's two embeddings, and the mean. */
    leastCosine: Math.min(...cosines),
    meanCosine: cosines.reduce((a, b) => a + b, 0) / cosines.length,
  }
}

/** Distance between the results of two builds over all samples. */
type Distance = Awaited<ReturnType<typeof compareReaders | typeof compareRetrievers>>

/**
 * Runs two builds of one checkpoint on the same inputs and measures their distance.
 * @throws model_invalid for a folder without built model; unsupported for builds of different checkpoints, or without samples
 */
export async function compareBuilds(builtDir: string, otherDir: string, samples: readonly Sample[]): Promise<Distance> {
  if (samples.length === 0) throw unsupported('two builds can only be compared on some text; none was given')
  await using model = await openModel(builtDir)
  await using other = await openModel(otherDir)
  const [{ source }, { source: against }] = [model.manifest, other.manifest]
  if (source.revision !== against.revision)
    throw unsupported(`${builtDir} and ${otherDir} are builds of different checkpoints (${source.name}, ${against.name})`)
  if (isReader(model) && isReader(other)) return await compareReaders(model, other, samples)
  if (isRetriever(model) && isRetriever(other)) return await compareRetrievers(model, other, samples)
  throw unsupported(`${builtDir} and ${otherDir} are models of different kinds`)
}

export function formatDistance(distance: Distance): string {
  if (distance.kind === 'retriever') {
    return `${distance.texts} texts: cosine of both embeddings ${distance.meanCosine.toFixed(5)} on average, ${distance.leastCosine.toFixed(5)} at least`
  }
  const { tokens, meanKl, p99Kl, sameChoice, states } = distance
  return [
    `${tokens} next-token distributions: KL divergence ${meanKl.toExponential(2)} nats on average, ${p99Kl.toExponential(2)} at the 99th percentile`,
    `same most probable token: ${(100 * sameChoice).toFixed(2)} %; encoder states differ by ${(100 * states).toFixed(2)} %`,
  ].join('\n')
}
