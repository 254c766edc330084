import { mkdir, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { f32ToF16 } from '../../base/binary16.ts'
import { CodedError } from '../../base/errors.ts'
import { parseConfig } from '../../models/checkpoint/config-parse.ts'
import { expectedTensors } from '../../models/checkpoint/rename.ts'
import { normal, uniform } from './synthetic-checkpoint.ts'
import { u64, writeZip64, type ZipEntry } from './zip64.ts'

/** Numbers that are drawn; tensors repeat them from a random start. */
const DRAWN = 1 << 22
const DEVIATION = 0.02
const F16_BYTES = 2

interface Weight {
  readonly name: string
  readonly shape: readonly number[]
  readonly count: number
}

/** The tensors of a checkpoint of this config.json. */
function weightsOf(config: object): Weight[] {
  return [...expectedTensors(parseConfig(config))].map(([name, shape]) => ({ name, shape, count: shape.reduce((a, b) => a * b, 1) }))
}

/** Weights of a checkpoint of this config.json. */
export function parametersOf(config: object): number {
  return weightsOf(config).reduce((sum, { count }) => sum + count, 0)
}

/** @throws disk_full where a folder's disk has less than `bytes` free */
export async function requireFree(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  const gigabytes = (value: number): string => `${(value / 1e9).toFixed(value < 1e9 ? 3 : 1)} GB`
  if (bavail * bsize < bytes)
    throw new CodedError('disk_full', `About ${gigabytes(bytes)} are needed in ${folder}, where ${gigabytes(bavail * bsize)} are free.`)
}

/**
 * Writes a checkpoint of random f16 weights as torch's sharded `.bin` files, the layout of the published CEPE models: config.json,
 * an index, and zip64 archives of a pickle and one storage a tensor. Memory stays small whatever the size.
 * @returns bytes of all shards
 */
export async function writeTorchShards(dir: string, config: object, shards: number): Promise<number> {
  const weights = weightsOf(config)
  const total = weights.reduce((sum, { count }) => sum + count, 0)
  await mkdir(dir, { recursive: true })
  await writeFile(join(dir, 'config.json'), JSON.stringify(config))
  const groups: Weight[][] = Array.from({ length: shards }, () => [])
  let before = 0
  for (const weight of weights) {
    groups[Math.min(shards - 1, Math.floor((before / total) * shards))]?.push(weight)
    before += weight.count
  }
  const noise = noiseOf(Math.min(DRAWN, total))
  const map: Record<string, string> = {}
  let bytes = 0
  for (const [index, group] of groups.entries()) {
    const number = (n: number): string => String(n).padStart(5, '0')
    const name = `pytorch_model-${number(index + 1)}-of-${number(shards)}.bin`
    for (const weight of group) map[weight.name] = name
    bytes += await writeShard(join(dir, name), group, noise)
  }
  await writeFile(join(dir, 'pytorch_model.bin.index.json'), JSON.stringify({ metadata: { total_size: bytes }, weight_map: map }))
  return bytes
}

type Noise = (weight: Weight) => Generator<Uint8Array>

function noiseOf(drawn: number): Noise {
  const draw = normal(1)
  const start = uniform(2)
  const base = Float32Array.from({ length: drawn }, draw)
  const around = (mean: number, spread: number): Uint16Array => f32ToF16(base.map((value) => mean + spread * value))
  const [norms, matrices] = [around(1, 0.1), around(0, DEVIATION)]
  return function* ({ name, count }) {
    const source = /norm/i.test(name) && name.endsWith('weight') ? norms : matrices
    let from = Math.floor(start() * source.length)
    for (let done = 0; done < count; from = 0) {
      const part = source.subarray(from, Math.min(source.length, from + count - done))
      yield new Uint8Array(part.buffer, part.byteOffset, part.byteLength)
      done += part.length
    }
  }
}

async function writeShard(path: string, weights: readonly Weight[], noise: Noise): Promise<number> {
  const bytes = (name: string, data: Buffer): ZipEntry => ({ name: `archive/${name}`, size: data.length, content: () => [data] })
  const entries = [
    bytes('data.pkl', stateDict(weights)),
    bytes('byteorder', Buffer.from('little')),
    ...weights.map((weight, i): ZipEntry => ({ name: `archive/data/${i}`, size: weight.count * F16_BYTES, content: () => noise(weight) })),
    bytes('version', Buffer.from('3\n')),
  ]
  return writeZip64(path, entries)
}

/** A pickle (protocol 2) of an OrderedDict of f16 tensors, tensor i in storage i, as torch.save writes it. */
function stateDict(weights: readonly Weight[]): Buffer {
  const text = (value: string): Buffer => {
    const length = Buffer.alloc(4)
    length.writeUInt32LE(Buffer.byteLength(value))
    return Buffer.concat([Buffer.from('X'), length, Buffer.from(value)])
  }
  const integer = (value: number): Buffer => Buffer.concat([Buffer.from([0x8a, 8]), u64(value)])
  const global = (module: string, name: string): Buffer => Buffer.from(`c${module}\n${name}\n`)
  const tuple = (...items: readonly Buffer[]): Buffer => Buffer.concat([Buffer.from('('), ...items, Buffer.from('t')])
  const dictionary = Buffer.concat([global('collections', 'OrderedDict'), Buffer.from(')R')])
  const strides = (shape: readonly number[]): number[] => shape.map((_, axis) => shape.slice(axis + 1).reduce((a, b) => a * b, 1))
  const tensors = weights.flatMap(({ name, shape, count }, i) => [
    text(name),
    global('torch._utils', '_rebuild_tensor_v2'),
    tuple(
      Buffer.concat([
        tuple(text('storage'), global('torch', 'HalfStorage'), text(String(i)), text('cpu'), integer(count)),
        Buffer.from('Q'),
      ]),
      integer(0),
      tuple(...shape.map(integer)),
      tuple(...strides(shape).map(integer)),
      Buffer.from([0x89]),
      dictionary,
    ),
    Buffer.from('R'),
  ])
  return Buffer.concat([Buffer.from([0x80, 2]), dictionary, Buffer.from('('), ...tensors, Buffer.from('u.')])
}
