import type { Checkpoint, RawTensor } from '../checkpoint/checkpoint.ts'
import { combinedRevision } from '../checkpoint/file.ts'
import { assertFinite, f32Tensor, toF32, withChanged } from '../checkpoint/weights.ts'
import { invalid } from '../errors.ts'
import { openAdapter, type Adapter, type LoraPair } from './open.ts'

/** The stored matrix [out,in] plus scale B A, as float32; sums over the ranks first, as PEFT. @throws checkpoint_invalid if not finite */
function merged(
  name: string,
  stored: RawTensor,
  { ins, outs, rank, factor }: Pick<LoraPair, 'ins' | 'outs' | 'rank' | 'factor'>,
  { a, b }: { readonly a: Float32Array; readonly b: Float32Array },
): RawTensor {
  const matrix = toF32(name, stored)
  const row = new Float64Array(ins)
  for (let out = 0; out < outs; out++) {
    row.fill(0)
    for (let k = 0; k < rank; k++) {
      const weight = b[out * rank + k] as number
      const from = k * ins
      for (let i = 0; i < ins; i++) row[i] = (row[i] as number) + weight * (a[from + i] as number)
    }
    const to = out * ins
    for (let i = 0; i < ins; i++) matrix[to + i] = (matrix[to + i] as number) + factor * (row[i] as number)
  }
  const tensor = f32Tensor(matrix, stored.shape)
  assertFinite(name, 'F32', tensor.data)
  return tensor
}

function checkFits({ name, tensors }: Checkpoint, adapter: Pick<Adapter, 'name' | 'pairs'>): void {
  for (const [tensor, { ins, outs }] of adapter.pairs) {
    const info = tensors.get(tensor)
    const other = `the adapter ${adapter.name} is of another base`
    if (info === undefined) throw invalid(`${other}: ${name} has no tensor ${tensor}; give the adapter's own base`, tensor)
    const message = `${other}: its ${tensor} is [${outs}, ${ins}], that of ${name} [${info.shape.join(', ')}]; give the adapter's own base`
    if (info.shape.length !== 2 || info.shape[0] !== outs || info.shape[1] !== ins) throw invalid(message, tensor)
  }
}

/**
 * The checkpoint with the adapters of these folders merged in order.
 * @throws those of openAdapter; checkpoint_invalid if the base lacks such a matrix, or its shape differs
 */
export async function withAdapters(checkpoint: Checkpoint, folders: readonly string[]): Promise<Checkpoint> {
  let merged = checkpoint
  for (const folder of folders) merged = withAdapter(merged, await openAdapter(folder))
  return merged
}

/**
 * A checkpoint whose matrices include the adapter's products, computed on read, one at a time, as float32.
 * @throws checkpoint_invalid if the base lacks such a matrix, or its shape differs
 */
export function withPairs(base: Checkpoint, adapter: Pick<Adapter, 'name' | 'pairs'>): Checkpoint {
  checkFits(base, adapter)
  return withChanged(base, (name) => {
    const pair = adapter.pairs.get(name)
    return pair && (async (stored) => merged(name, stored, pair, await pair.read()))
  })
}

/** It is asked as the adapter was trained. Its name is `base+adapter`, its revision covers both. */
function withAdapter(base: Checkpoint, adapter: Adapter): Checkpoint {
  return {
    ...withPairs(base, adapter),
    name: `${base.name}+${adapter.name}`,
    ...(adapter.qaDefaults && { qaDefaults: adapter.qaDefaults, plainPrompts: true }),
    revision: combinedRevision(base.revision, adapter.revision),
  }
}
