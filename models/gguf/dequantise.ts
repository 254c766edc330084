import { f16ToF32 } from '../../base/binary16.ts'
import { GGUF_TYPES, type GgufType } from './types.ts'

type QuantisedType = Exclude<GgufType, 'F32' | 'F16' | 'BF16'>

/** The values of all half-precision bit patterns, since each block has one or two. */
const HALVES = f16ToF32(Uint16Array.from({ length: 1 << 16 }, (_, bits) => bits))

/** Decodes one block: bytes of `data` from `at` to weights of `out` from `to`. Products are exact in f32: only sums are rounded. */
type Block = (data: Uint8Array, at: number, out: Float32Array, to: number) => void

function half(data: Uint8Array, at: number): number {
  return HALVES[(data[at] as number) | ((data[at + 1] as number) << 8)] as number
}

function signed(byte: number): number {
  return (byte << 24) >> 24
}

const q8: Block = (data, at, out, to) => {
  const scale = half(data, at)
  for (let i = 0; i < 32; i++) out[to + i] = scale * signed(data[at + 2 + i] as number)
}

/**
 * Four bits per weight: the first 16 weights in the low nibbles, the others in the high ones.
 * @param fifth whether the fifth bits of all weights are in the four preceding bytes
 */
function nibbles(header: number, middle: number, least: (data: Uint8Array, at: number) => number, fifth = false): Block {
  const bit = (data: Uint8Array, at: number, i: number): number => (((data[at + (i >> 3)] as number) >> (i & 7)) & 1) << 4
  return (data, at, out, to) => {
    const scale = half(data, at)
    const lowest = least(data, at)
    for (let i = 0; i < 16; i++) {
      const pair = data[at + header + (fifth ? 4 : 0) + i] as number
      const low = fifth ? bit(data, at + header, i) : 0
      const high = fifth ? bit(data, at + header + 2, i) : 0
      out[to + i] = scale * (((pair & 15) | low) - middle) + lowest
      out[to + i + 16] = scale * (((pair >> 4) | high) - middle) + lowest
    }
  }
}

/** Adding -0 preserves the sign of a zero. */
const none = (): number => -0
const stored = (data: Uint8Array, at: number): number => half(data, at + 2)

/** The six-bit scale and minimum of one of the eight groups of a K block, packed in 12 bytes from `at`. */
function groupScale(data: Uint8Array, at: number, group: number): { scale: number; least: number } {
  const byte = (index: number): number => data[at + index] as number
  if (group < 4) return { scale: byte(group) & 63, least: byte(group + 4) & 63 }
  const shared = byte(group + 4)
  return { scale: (shared & 15) | ((byte(group - 4) >> 6) << 4), least: (shared >> 4) | ((byte(group) >> 6) << 4) }
}

/** 256 weights in eight groups of 32, pairs of which share bytes; `high` is the offset of the fifth bits, or null. */
function kBlock(high: number | null, low: number): Block {
  return (data, at, out, to) => {
    const [scale, least] = [half(data, at), half(data, at + 2)]
    for (let group = 0; group < 8; group++) {
      const packed = groupScale(data, at + 4, group)
      const [step, lowest] = [scale * packed.scale, least * packed.least]
      const shift = (group & 1) * 4
      const bytes = at + low + (group >> 1) * 32
      for (let i = 0; i < 32; i++) {
        const fifth = high === null ? 0 : (((data[at + high + i] as number) >> group) & 1) << 4
        out[to + group * 32 + i] = step * ((((data[bytes + i] as number) >> shift) & 15) | fifth) - lowest
      }
    }
  }
}

/** 256 weights in 16 groups of 16: four low bits, two high bits, one signed scale per group. */
const q6K: Block = (data, at, out, to) => {
  const scale = half(data, at + 208)
  for (let index = 0; index < 256; index++) {
    const [part, quarter, i] = [index >> 7, (index >> 5) & 3, index & 31]
    const low = ((data[at + part * 64 + (quarter & 1) * 32 + i] as number) >> ((quarter >> 1) * 4)) & 15
    const high = ((data[at + 128 + part * 32 + i] as number) >> (quarter * 2)) & 3
    const group = signed(data[at + 192 + (index >> 4)] as number)
    out[to + index] = scale * group * ((low | (high << 4)) - 32)
  }
}

const BLOCKS: Readonly<Record<QuantisedType, Block>> = {
  Q4_0: nibbles(2, 8, none),
  Q4_1: nibbles(4, 0, stored),
  Q5_0: nibbles(2, 16, none, true),
  Q5_1: nibbles(4, 0, stored, true),
  Q8_0: q8,
  Q4_K: kBlock(null, 16),
  Q5_K: kBlock(16, 48),
  Q6_K: q6K,
}

/** Decodes whole blocks to float32, with the results of the `gguf` package's dequantize. */
export function dequantise(type: QuantisedType, data: Uint8Array): Float32Array {
  const { weights, bytes } = GGUF_TYPES[type]
  const blocks = data.length / bytes
  const block = BLOCKS[type]
  const out = new Float32Array(blocks * weights)
  for (let index = 0; index < blocks; index++) block(data, index * bytes, out, index * weights)
  return out
}

/**
 * Reorders rows of a query or key projection to Hugging Face's LLaMA. GGUF interleaves the two halves of a head (row 2i + j for row j
 * head_dim/2 + i), because llama.cpp rotates neighbours.
 * @param data rows * bytes of a row
 */
export function turnRowsBack(data: Uint8Array, rows: number, heads: number): Uint8Array {
  const rowBytes = data.length / rows
  const headDim = rows / heads
  const out = new Uint8Array(data.length)
  for (let row = 0; row < rows; row++) {
    const inHead = row % headDim
    const to = row - inHead + (inHead & 1) * (headDim / 2) + (inHead >> 1)
    out.set(data.subarray(row * rowBytes, (row + 1) * rowBytes), to * rowBytes)
  }
  return out
}
