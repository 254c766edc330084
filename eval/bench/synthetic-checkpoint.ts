import { mkdir, open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseConfig } from '../../models/checkpoint/config-parse.ts'
import { expectedTensors } from '../../models/checkpoint/rename.ts'
import { f32ToF16 } from '../../base/binary16.ts'

/** Values that are generated; larger tensors repeat them from a random start. */
const BLOCK = 1 << 20

/** Seeded uniform numbers in [0, 1): xorshift32. */
export function uniform(seed: number): () => number {
  let state = (seed * 2654435761 + 1) >>> 0 || 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}

/** Standard normal numbers (Box-Muller). */
export function normal(seed: number): () => number {
  const next = uniform(seed)
  return () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next())
}

export interface SyntheticOptions {
  readonly seed?: number
  /** Standard deviation of matrices; norm weights are around 1. */
  readonly deviation?: number
  readonly dtype?: 'F32' | 'F16'
  /** Zeros that take no room on disk, in the place of random numbers. */
  readonly sparse?: boolean
}

/**
 * Writes a checkpoint folder of random weights in the shape that config.json's content asks for: config.json and
 * model.safetensors. Memory stays small whatever the size. Returns the folder.
 */
export async function writeSyntheticCheckpoint(dir: string, config: object, options: SyntheticOptions = {}): Promise<string> {
  const { seed = 1, deviation = 0.02, dtype = 'F32', sparse = false } = options
  const width = dtype === 'F32' ? 4 : 2
  const tensors = [...expectedTensors(parseConfig(config))].map(([name, shape]) => ({
    name,
    shape,
    count: shape.reduce((a, b) => a * b, 1),
  }))
  let end = 0
  const header = Object.fromEntries(
    tensors.map(({ name, shape, count }) => [name, { dtype, shape, data_offsets: [end, (end += count * width)] }]),
  )
  const json = Buffer.from(JSON.stringify(header))
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(json.length))

  await mkdir(dir, { recursive: true })
  await writeFile(join(dir, 'config.json'), JSON.stringify(config))
  const file = await open(join(dir, 'model.safetensors'), 'w')
  try {
    await file.writeFile(Buffer.concat([length, json]))
    if (sparse) {
      await file.truncate(length.length + json.length + end)
      return dir
    }
    const draw = normal(seed)
    const start = uniform(seed + 1)
    const most = Math.min(
      BLOCK,
      tensors.reduce((sum, { count }) => sum + count, 0),
    )
    const noise = Float32Array.from({ length: most }, draw)
    for (const { name, count } of tensors) {
      const [mean, spread] = /norm/i.test(name) && name.endsWith('weight') ? [1, 0.1] : [0, deviation]
      for (let done = 0; done < count; done += BLOCK) {
        const from = Math.floor(start() * noise.length)
        const values = new Float32Array(Math.min(BLOCK, count - done))
        for (let i = 0; i < values.length; i++) values[i] = mean + spread * (noise[(from + i) % noise.length] as number)
        await file.writeFile(dtype === 'F32' ? new Uint8Array(values.buffer) : new Uint8Array(f32ToF16(values).buffer))
      }
    }
  } finally {
    await file.close()
  }
  return dir
}
