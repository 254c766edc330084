import { basename } from 'node:path'
import { at } from '../base/at.ts'
import { openWeightFile } from './checkpoint/file.ts'
import { readSafetensorsIndex } from './checkpoint/safetensors.ts'
import { invalid } from './errors.ts'

/**
 * Reads a golden file (safetensors) into memory: inputs and expected outputs of the reference implementation, by name.
 * @throws checkpoint_invalid for a damaged file, and when a tensor is missing or of another type
 */
export async function readGolden(path: string) {
  const weights = await openWeightFile(path)
  const file = basename(path)
  const { tensors } = await readSafetensorsIndex(weights)
  const contents = await weights.readParts(tensors)
  const loaded = new Map(tensors.map(({ name, dtype, shape }, i) => [name, { dtype, shape, bytes: at(contents, i) }]))
  const find = (name: string, dtype: 'I64' | 'F32'): { bytes: Uint8Array; shape: readonly number[] } => {
    const tensor = loaded.get(name)
    if (tensor?.dtype !== dtype) throw invalid(`golden file ${file} needs ${name} as ${dtype}`, name)
    return tensor
  }
  return {
    file,
    has: (name: string) => loaded.has(name),
    ints: (name: string) => {
      const { bytes, shape } = find(name, 'I64')
      return { data: new BigInt64Array(bytes.buffer), shape }
    },
    floats: (name: string) => {
      const { bytes, shape } = find(name, 'F32')
      return { data: new Float32Array(bytes.buffer), shape }
    },
  }
}

export type Golden = Awaited<ReturnType<typeof readGolden>>

export interface Difference {
  readonly tensor: string
  readonly graph: string
  readonly count: number
  /** Largest absolute difference; NaN if sizes differ or a value is NaN. For ids: the number of differing positions. */
  readonly largest: number
  readonly ok: boolean
}

/** Compares values: differences up to atol are accepted, NaN never. */
export function compareFloats(
  { tensor, graph }: Pick<Difference, 'tensor' | 'graph'>,
  expected: Float32Array,
  actual: ArrayLike<number>,
  atol: number,
): Difference {
  let largest = expected.length === actual.length ? 0 : Number.NaN
  for (let i = 0; i < expected.length && !Number.isNaN(largest); i++) {
    const difference = Math.abs((expected[i] as number) - (actual[i] as number))
    if (!(difference <= largest)) largest = difference
  }
  return { tensor, graph, count: expected.length, largest, ok: largest <= atol }
}

export function compareIds(tensor: string, graph: string, expected: readonly number[], actual: readonly number[]): Difference {
  const longest = expected.length > actual.length ? expected : actual
  const differing = longest.reduce((count, _, i) => count + (expected[i] === actual[i] ? 0 : 1), 0)
  return { tensor, graph, count: expected.length, largest: differing, ok: differing === 0 }
}

export interface Verification {
  readonly golden: string
  readonly atol: number
  readonly differences: readonly Difference[]
  readonly ok: boolean
}

export function formatVerification({ golden, atol, differences, ok }: Verification): string {
  const rows = differences.map(({ tensor, graph, count, largest, ok: fits }) => [
    tensor,
    graph,
    String(count),
    tensor.endsWith('_ids') ? `${largest} differ` : largest.toExponential(2),
    fits ? 'ok' : 'DIFFERS',
  ])
  const table = [['tensor', 'graph', 'values', 'largest difference', ''], ...rows]
  const widths = table.reduce<number[]>((most, row) => row.map((cell, i) => Math.max(most.at(i) ?? 0, cell.length)), [])
  const lines = table.map((row) =>
    row
      .map((cell, i) => cell.padEnd(at(widths, i)))
      .join('  ')
      .trimEnd(),
  )
  return [`${golden}: ${ok ? 'agrees' : 'DIFFERS'} (atol ${atol})`, ...lines].join('\n')
}
