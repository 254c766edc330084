import path from 'node:path'
import { at, keptOrMade, mean } from '../../../../base/at.ts'
import { unsupported } from '../../../../models/errors.ts'
import { loadManifest } from '../../../../models/folder.ts'
import { checkFiles } from '../../../../models/integrity.ts'
import { compareFloats, compareIds, readGolden, type Difference, type Golden, type Verification } from '../../../../models/golden.ts'
import type { CepeManifest, ContrieverManifest, ModelManifest } from '../../../../models/manifest.ts'
import { argmax, logSoftmax, mixLogprobs } from '../decoder/sampling.ts'
import { emptyPast, extend, isByLength, logitsRow, mergePasts, prefill, type StepModel } from '../decoder/step.ts'
import { type Batch, decode, type Decoded, type Decoding, noContexts } from '../decoder/step-decoding.ts'
import { type Feeds, type Graph, float32, floats, int64, integers, loadGraph, padRight, type Tensor } from '../runtime/session.ts'

/** A built model whose graphs are loaded on first use. */
interface OpenModel<Manifest extends ModelManifest = ModelManifest> {
  readonly manifest: Manifest
  readonly run: (file: string, feeds: Feeds) => Promise<Feeds>
  readonly graph: (file: string) => Promise<Graph>
}
type OpenReader = OpenModel<CepeManifest>
type OpenRetriever = OpenModel<ContrieverManifest>

function isReader(model: OpenModel): model is OpenReader {
  return model.manifest.architecture === 'cepe'
}
function isRetriever(model: OpenModel): model is OpenRetriever {
  return model.manifest.architecture === 'contriever'
}

/** @throws model_invalid for a folder without built model, or with a damaged one */
async function openModel(dir: string): Promise<OpenModel & AsyncDisposable> {
  const manifest = await loadManifest(dir)
  await checkFiles(dir, manifest)
  const graphs = new Map<string, Promise<Graph>>()
  const graph = (file: string): Promise<Graph> =>
    keptOrMade(graphs, file, () => loadGraph(path.join(dir, file), { threads: 1, provider: { name: 'cpu' } }))
  return {
    manifest,
    graph,
    run: async (file, feeds) => (await graph(file)).run(feeds),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([...graphs.values()].map(async (loaded) => (await loaded).release()))
    },
  }
}

async function stepOf({ manifest, graph }: OpenReader): Promise<StepModel> {
  const whole = { prefillTokens: Infinity, batchTokens: Infinity }
  return { graph: await graph(manifest.graphs.step), dims: manifest.dims, byLength: isByLength(manifest), ...whole }
}

function idsOf(golden: Golden, name: string): number[] {
  return Array.from(golden.ints(name).data, Number)
}

const yieldPoint = (): Promise<void> => Promise.resolve()

/** Greedy decoding through the step graph. A number that is NaN is compared like any other. */
function decodeBySteps(step: StepModel, prompt: Batch, golden: Golden, over: Pick<Decoding, 'phi' | 'mix'>): Promise<Decoded> {
  const [maxNewTokens = 1] = idsOf(golden, 'max_new_tokens')
  return decode(step, [prompt], { maxNewTokens, stopIds: idsOf(golden, 'stop_ids'), yieldPoint, choose: argmax, ...over })
}

function compareGreedy(golden: Golden, graph: string, { tokenIds, logprobs }: Decoded, atol: number): Difference[] {
  return [
    compareIds('generated_ids', graph, idsOf(golden, 'generated_ids'), tokenIds),
    compareFloats({ tensor: 'generated_logprobs', graph }, golden.floats('generated_logprobs').data, logprobs, atol),
  ]
}

/** RePlug's mixture: one prompt per passage, weighted by its score. */
async function verifyReplug(model: OpenReader, golden: Golden, atol: number): Promise<Difference[]> {
  const step = await stepOf(model)
  const phi = noContexts(step)
  const [ids, mask] = [idsOf(golden, 'input_ids'), idsOf(golden, 'attention_mask')]
  const [count = 0, length = 0] = golden.ints('input_ids').shape
  const read = []
  for (let row = 0; row < count; row++) {
    const kept = ids.slice(row * length, (row + 1) * length).filter((_, i) => mask[row * length + i] === 1)
    read.push(await prefill(step, { ids: kept }, phi, yieldPoint))
  }
  const [pasts, logits] = [read.map(({ past }) => past), read.map((prompt) => prompt.logits)]
  const [scores, temperature] = [Array.from(golden.floats('context_scores').data), golden.floats('temperature').data.at(0) ?? 1]
  const mix: Decoding['mix'] = (rows) => mixLogprobs(rows, scores, temperature)
  return [
    compareFloats({ tensor: 'first_logprobs', graph: 'step' }, golden.floats('first_logprobs').data, mix(logits.map(logSoftmax)), atol),
    ...compareGreedy(golden, 'step', await decodeBySteps(step, { past: mergePasts(step, pasts), logits }, golden, { phi, mix }), atol),
  ]
}

function textInputs(golden: Golden, prefix: '' | 'encoder_'): Feeds {
  const tensor = (name: string): Tensor => int64(idsOf(golden, prefix + name), golden.ints(prefix + name).shape)
  return { input_ids: tensor('input_ids'), attention_mask: tensor('attention_mask') }
}

/** The encoder's states of padded passages; none without passages or an encoder. */
async function encoded({ manifest: { graphs, dims }, run }: OpenReader, passages: Feeds | undefined) {
  const width = dims.encoder_hidden_size
  const states = passages && graphs.encoder !== null ? floats(await run(graphs.encoder, passages), 'phi') : new Float32Array()
  return { states, phi: float32(states, [states.length === 0 ? 0 : states.length / width, width]) }
}

/** Compares the states at unmasked tokens. */
function compareStates(golden: Golden, actual: Float32Array, atol: number): Difference {
  const { data, shape } = golden.floats('encoder_hidden_states')
  const width = shape.at(-1) ?? 0
  const mask = golden.ints('encoder_attention_mask').data
  const kept = data.filter((_, i) => mask[Math.floor(i / width)] === 1n)
  return compareFloats({ tensor: 'encoder_hidden_states', graph: 'encoder' }, kept, actual, atol)
}

async function verifyReader(model: OpenReader, golden: Golden, atol: number): Promise<Difference[]> {
  if (golden.has('context_scores')) return verifyReplug(model, golden, atol)
  const { graphs } = model.manifest
  const isEncoded = golden.has('encoder_input_ids') && graphs.encoder !== null
  const { states, phi } = await encoded(model, isEncoded ? textInputs(golden, 'encoder_') : undefined)
  const [ids, stopIds] = [idsOf(golden, 'input_ids'), idsOf(golden, 'stop_ids')]
  const step = await stepOf(model)
  const { past, logits } = await extend(step, emptyPast(step), [ids], phi)
  const prompt = { past, logits: [logitsRow(step, logits, ids.length - 1)] }
  const generated = await model.run(graphs.generate, {
    input_ids: int64(ids, [1, ids.length]),
    phi,
    stop_ids: int64(stopIds, [stopIds.length]),
    max_new_tokens: int64(idsOf(golden, 'max_new_tokens'), []),
  })
  const whole = { tokenIds: integers(generated, 'tokens'), logprobs: Array.from(floats(generated, 'logprobs')) }
  return [
    ...(isEncoded ? [compareStates(golden, states, atol)] : []),
    compareFloats({ tensor: 'logits', graph: 'step' }, golden.floats('logits').data, logits, atol),
    ...compareGreedy(golden, 'step', await decodeBySteps(step, prompt, golden, { phi, mix: (rows) => at(rows, 0) }), atol),
    ...compareGreedy(golden, 'generate', whole, atol),
  ]
}

async function verifyEmbedder({ manifest, run }: OpenRetriever, golden: Golden, atol: number): Promise<Difference[]> {
  const embedding = floats(await run(manifest.graphs.embed, textInputs(golden, '')), 'embedding')
  return [compareFloats({ tensor: 'embedding', graph: 'embed' }, golden.floats('embedding').data, embedding, atol)]
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

async function readPrompt(model: OpenReader, { contexts, prompt }: Sample) {
  const { states, phi } = await encoded(model, contexts.length > 0 ? padRight(contexts, 0) : undefined)
  const step = await stepOf(model)
  const { logits } = await extend(step, emptyPast(step), [prompt], phi)
  return { states, distributionAt: (i: number) => logSoftmax(logitsRow(step, logits, i)) }
}

/** Kullback-Leibler divergence sum p (ln p - ln q), from log-probabilities. */
function divergence(p: Float64Array, q: Float64Array): number {
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
    apart += squares(ours.states, theirs.states)
    size += squares(theirs.states)
    for (let i = 0; i < sample.prompt.length; i++) {
      const [p, q] = [theirs.distributionAt(i), ours.distributionAt(i)]
      divergences.push(divergence(p, q))
      if (argmax(p) === argmax(q)) same++
    }
  }
  const sorted = [...divergences].sort((a, b) => a - b)
  return {
    kind: 'reader' as const,
    /** Number of next-token distributions compared, one per prompt token. */
    tokens: sorted.length,
    /** Kullback-Leibler divergence of the other build's distribution from this one's, in nats. */
    meanKl: mean(sorted),
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
      floats(await run(manifest.graphs.embed, padRight([text], 0)), 'embedding')
    const [a, b] = [await embed(one), await embed(other)]
    cosines.push(a.reduce((sum, value, i) => sum + value * at(b, i), 0) / Math.sqrt(squares(a) * squares(b)))
  }
  return {
    kind: 'retriever' as const,
    texts: cosines.length,
    /** Lowest cosine of a text's two embeddings, and the mean. */
    leastCosine: Math.min(...cosines),
    meanCosine: mean(cosines),
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
