/**
 * IEEE 754 binary16 conversion by table (J. van der Zijp, "Fast Half Float Conversions"), with rounding to nearest.
 * Index of the tables: sign and exponent bits of the float32.
 */
const base = new Uint16Array(512)
const shift = new Uint8Array(512)
for (let i = 0; i < 256; i++) {
  const exponent = i - 127
  let bits: number
  let shiftBy: number
  if (exponent < -25) [bits, shiftBy] = [0, 24]
  else if (exponent < -14) [bits, shiftBy] = [0x400 >> (-exponent - 14), -exponent - 1]
  else if (exponent <= 15) [bits, shiftBy] = [(exponent + 15) << 10, 13]
  else [bits, shiftBy] = [0x7c00, exponent === 128 ? 13 : 24]
  base[i] = bits
  base[i | 0x100] = bits | 0x8000
  shift[i] = shift[i | 0x100] = shiftBy
}

const EXPONENT = 0x7c00

/**
 * Writes `vector` as binary16 bit patterns into `out` at `offset`.
 * @returns the index of the first number that is NaN, infinite or beyond ±65504, or -1.
 */
export const writeHalves = (vector: Float32Array, out: Uint16Array, offset: number): number => {
  const bits = new Uint32Array(vector.buffer, vector.byteOffset, vector.length)
  for (let i = 0; i < bits.length; i++) {
    const b = bits[i] ?? 0
    const at = b >>> 23
    const mantissa = b & 0x7fffff
    const by = shift[at] ?? 0
    const half = (base[at] ?? 0) + (mantissa >>> by) + (by < 24 ? (mantissa >>> (by - 1)) & 1 : 0)
    if ((half & EXPONENT) === EXPONENT) return i
    out[offset + i] = half
  }
  return -1
}

/** True if no bit pattern is NaN or infinite. */
export const halvesFinite = (halves: Uint16Array): boolean => {
  for (let i = 0; i < halves.length; i++) if (((halves[i] ?? 0) & EXPONENT) === EXPONENT) return false
  return true
}

/** The float32 values of binary16 bit patterns. */
export const fromHalves = (halves: Uint16Array): Float32Array => {
  const out = new Float32Array(halves.length)
  for (let i = 0; i < halves.length; i++) {
    const h = halves[i] ?? 0
    const sign = h & 0x8000 ? -1 : 1
    const exponent = (h & EXPONENT) >> 10
    const fraction = h & 0x3ff
    if (exponent === 0) out[i] = sign * fraction * 2 ** -24
    else if (exponent === 31) out[i] = fraction === 0 ? sign * Infinity : NaN
    else out[i] = sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
  }
  return out
}
