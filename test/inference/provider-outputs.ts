import { cp, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { closing } from '../../base/files.ts'
import { exists } from '../../base/exists.ts'
import { buildModel } from '../../models/build.ts'
import { readGolden } from '../../models/golden.ts'
import { MANIFEST_FILE, type Dtype } from '../../models/manifest.ts'
import { packageRoot } from '../../src/package.ts'
import type { GenerateRequest } from '../../src/inference/contract.ts'
import { createReader } from '../../src/inference/pool/models/create-reader.ts'
import type { Provider } from '../../src/inference/protocol.ts'
import { buildWithWords } from '../fixtures/built-fixture.ts'
import { numbers, requestOf } from './pool/golden-requests.ts'
import { table } from '../../bench/measure.ts'

export interface PartResult {
  readonly text: string
  /** False if a result differs from its expectation. */
  readonly ok: boolean
}

interface Outputs {
  readonly tokenIds: readonly number[]
  readonly logprobs: readonly number[]
}

/** A request, and its answer if one was recorded. */
interface Case {
  readonly name: string
  readonly request: GenerateRequest
  readonly recorded?: Outputs
}

export interface PartOptions {
  /** The part's own folder. */
  readonly folder: string
  readonly dtype: Dtype
  readonly provider: Provider
}

/** A committed checkpoint of random weights with outputs of the reference implementation. */
const FIXTURE = join(packageRoot(), 'test/fixtures/reference/cepe-tiny')
const SHIPPED = join(packageRoot(), 'models/tiny/checkpoint/cepe')
/** Largest accepted difference of a log-probability from the CPU's, or from a recorded one. Products in 4 bits round differently there. */
const ATOL = { f32: 2e-4, f16: 0.05, other: 0.2 } as const
/** Prompts at which attention kernels change, and one of a single token. */
const PROMPTS = [1, 64, 128, 256]
const FIRST_ID = 100

/** Greedy answers of a checkpoint of random weights, beside recorded ones. */
export async function goldensPart(options: PartOptions): Promise<PartResult> {
  const files = (await readdir(FIXTURE)).filter((name) => /^golden-(?!replug)/.test(name))
  const cases = await Promise.all(
    files.map(async (name): Promise<Case> => {
      const golden = await readGolden(join(FIXTURE, name))
      const recorded = { tokenIds: numbers(golden, 'generated_ids'), logprobs: Array.from(golden.floats('generated_logprobs').data) }
      return { name, request: requestOf(golden), recorded }
    }),
  )
  return compared(cases, options, async (outDir, dtype) => {
    const checkpointDir = `${outDir}-checkpoint`
    await cp(FIXTURE, checkpointDir, { recursive: true })
    await buildWithWords(checkpointDir, outDir, dtype)
  })
}

/** Cross-attention without keys, and with a passage's. */
export function zeroKeysPart(options: PartOptions): Promise<PartResult> {
  const ids = (count: number): number[] => Array.from({ length: count }, (_, i) => FIRST_ID + ((i * 37) % 1000))
  const cases = PROMPTS.flatMap((length) =>
    [0, 1].map((count) => {
      const contextIds = Array.from({ length: count }, () => ids(PROMPTS[1] ?? 1))
      const request = { contexts: [], contextIds, contextTokens: 256, promptIds: ids(length), stopIds: [-1], maxNewTokens: 4 }
      return { name: `prompt of ${length}`, request }
    }),
  )
  return compared(cases, options, (outDir, dtype) => buildModel({ checkpointDir: SHIPPED, outDir, dtype }).then(() => undefined))
}

/**
 * Compares answers of a reader process with the recorded ones, else with the CPU's: of an f32 build, but of the same one where matrices are
 * quantized, whose other answers are no fault of the provider.
 */
async function compared(
  cases: readonly Case[],
  { folder, dtype, provider }: PartOptions,
  build: (outDir: string, dtype: Dtype) => Promise<void>,
): Promise<PartResult> {
  const isFloat = dtype === 'f32' || dtype === 'f16'
  const answers = async (inDtype: Dtype, on: Provider, asked: readonly Case[]): Promise<Outputs[]> => {
    if (asked.length === 0) return []
    const modelDir = join(folder, inDtype)
    if (!(await exists(join(modelDir, MANIFEST_FILE)))) await build(modelDir, inDtype)
    await using reader = closing(await createReader({ modelDir, provider: on }))
    const outputs: Outputs[] = []
    for (const { request } of asked) outputs.push(await reader.generate(request))
    return outputs
  }
  const unrecorded = cases.filter(({ recorded }) => recorded === undefined || !isFloat)
  const expected = new Map<Case, Outputs | undefined>(cases.map((one) => [one, one.recorded]))
  const fromCpu = await answers(isFloat ? 'f32' : dtype, { name: 'cpu' }, unrecorded)
  for (const [i, one] of unrecorded.entries()) expected.set(one, fromCpu[i])
  const atol = isFloat ? ATOL[dtype] : ATOL.other
  const given = await answers(dtype, provider, cases)
  const rows = cases.map((one, i) => ({ one, ...difference(given[i], expected.get(one), isFloat) }))
  const ok = rows.every(({ same, largest }) => same && largest <= atol)
  const cells = rows.map(({ one, same, largest }) => [
    ...[one.name, String((one.request.contextIds ?? one.request.contexts).length), same ? 'the same' : 'others', largest.toExponential(1)],
  ])
  const lines = table(['answer', 'contexts', `greedy tokens, ${dtype}`, 'largest difference of a log-probability'], cells)
  return { text: `${lines}\n\n${ok ? 'All' : 'NOT all'} within ${atol}.`, ok }
}

/** Quantized answers are compared up to the first other token: which one is likeliest may turn on the last bits. */
function difference(given: Outputs | undefined, expected: Outputs | undefined, strict: boolean) {
  const [ids = [], wanted = []] = [given?.tokenIds, expected?.tokenIds]
  const other = wanted.findIndex((id, i) => ids[i] !== id)
  const isSame = other < 0 && ids.length === wanted.length
  const until = strict || other < 0 ? wanted.length : other
  const differences = (expected?.logprobs ?? []).slice(0, until).map((value, i) => Math.abs(value - (given?.logprobs[i] ?? NaN)))
  return { same: strict ? isSame : wanted.length > 0 && other !== 0, largest: Math.max(0, ...differences) }
}
