import { crc32 } from 'node:zlib'
import type { StateDtype } from '../../protocol.ts'
import type { ContextStates } from './state-cache.ts'

/** "CEPS": encoder states, version 1. */
const MAGIC = 0x53504543
/** Magic, numbers per row, rows, CRC-32 of the rest: four 32-bit words. */
const HEADER_BYTES = 16

/** Encodes a file of one context's states: a header, then rows of little-endian numbers of the store's type. */
export function encodeStateFile(states: ContextStates, width: number): Buffer {
  const data = new Uint8Array(states.buffer, states.byteOffset, states.byteLength)
  const header = Uint32Array.of(MAGIC, width, states.length / width, crc32(data))
  return Buffer.concat([new Uint8Array(header.buffer), data])
}

/** @returns undefined for a file that is truncated, damaged, or of another width */
export function decodeStateFile(file: Uint8Array, width: number, dtype: StateDtype): ContextStates | undefined {
  if (file.byteLength < HEADER_BYTES) return undefined
  // Copies if the data is not aligned for a typed array.
  const aligned = file.byteOffset % 4 === 0 ? file : file.slice()
  const [magic, columns, rows, sum] = new Uint32Array(aligned.buffer, aligned.byteOffset, 4)
  const data = aligned.subarray(HEADER_BYTES)
  const bytes = dtype === 'f16' ? 2 : 4
  if (magic !== MAGIC || columns !== width || rows === undefined || data.byteLength !== rows * width * bytes) return undefined
  if (crc32(data) !== sum) return undefined
  return dtype === 'f16'
    ? new Uint16Array(data.buffer, data.byteOffset, rows * width)
    : new Float32Array(data.buffer, data.byteOffset, rows * width)
}
