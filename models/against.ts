import type { Tensor } from './runtime.ts'
import { at } from '../base/at.ts'
import { unsupported } from './errors.ts'
import {
  argMax,
  emptyPhi,
  floatsOf,
  int64,
  isReader,
  isRetriever,
  logSoftmax,
  ones,
  openModel,
  output,
  stepDecoder,
  type OpenReader,
  type OpenRetriever,
} from './open-model.ts'

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
