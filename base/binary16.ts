/** The f32 bits of all 65,536 half-precision values: a table lookup is faster than decoding. */
const F16_TO_F32_BITS = ((): Uint32Array => {
  const table = new Uint32Array(1 << 16)
  for (let half = 0; half < table.length; half++) {
    const sign = (half & 0x8000) << 16
    const exponent = (half >> 10) & 0x1f
    const fraction = half & 0x3ff
    if (exponent === 0x1f) table[half] = sign | 0x7f800000 | (fraction << 13)
    else if (exponent > 0) table[half] = sign | ((exponent + 112) << 23) | (fraction << 13)
    else if (fraction === 0) table[half] = sign
    else {
      // A subnormal half is a normal float: shift its leading one up to the hidden bit.
      const shift = Math.clz32(fraction) - 21
      table[half] = sign | ((113 - shift) << 23) | (((fraction << shift) & 0x3ff) << 13)
    }
  }
  return table
})()

/** IEEE 754 binary16 -> binary32, exact. */
export function f16ToF32(halves: Uint16Array): Float32Array {
  const bits = new Uint32Array(halves.length)
  for (let i = 0; i < halves.length; i++) bits[i] = F16_TO_F32_BITS[halves[i] as number] as number
  return new Float32Array(bits.buffer)
}

/** bfloat16 -> binary32, exact: bfloat16 is the upper half of a float. */
export function bf16ToF32(halves: Uint16Array): Float32Array {
  const bits = new Uint32Array(halves.length)
  for (let i = 0; i < halves.length; i++) bits[i] = (halves[i] as number) << 16
  return new Float32Array(bits.buffer)
}

/** f32 bits -> f16 bits, rounding to nearest, ties to even. */
function halfBits(bits: number): number {
  const sign = (bits >>> 16) & 0x8000
  const magnitude = bits & 0x7fffffff
  if (magnitude > 0x7f800000) return sign | 0x7e00
  // 65520 and above round past the largest half, 65504.
  if (magnitude >= 0x477ff000) return sign | 0x7c00
  if (magnitude >= 0x38800000) {
    const rounded = magnitude + 0xfff + ((magnitude >>> 13) & 1)
    return sign | ((rounded - 0x38000000) >>> 13)
  }
  // 2^-25 is the tie between zero and the smallest subnormal, and zero is even.
  if (magnitude <= 0x33000000) return sign
  const significand = (magnitude & 0x7fffff) | 0x800000
  const shift = 126 - (magnitude >>> 23)
  const kept = significand >>> shift
  const rest = significand & ((1 << shift) - 1)
  const half = 1 << (shift - 1)
  return sign | (kept + (rest > half || (rest === half && (kept & 1) === 1) ? 1 : 0))
}

/** IEEE 754 binary32 -> binary16, round to nearest even; magnitudes of 65520 and more become infinite, NaN stays NaN. */
export function f32ToF16(values: Float32Array): Uint16Array {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length)
  const halves = new Uint16Array(values.length)
  for (let i = 0; i < bits.length; i++) halves[i] = halfBits(bits[i] as number)
  return halves
}

const EXPONENT = 0x7c00

/**
 * Writes `vector` as binary16 bit patterns into `out` at `offset`, rounding as f32ToF16.
 * @returns the index of the first number that is NaN, infinite or rounds beyond ±65504, or -1.
 */
export function writeHalves(vector: Float32Array, out: Uint16Array, offset: number): number {
  const halves = f32ToF16(vector)
  for (let i = 0; i < halves.length; i++) if (isSpecial(halves[i] as number)) return i
  out.set(halves, offset)
  return -1
}

/** The exponents of two halves in one word; adding one to each carries into its sign bit only if all exponent bits are set. */
const EXPONENTS = 0x7c007c00
const ONES = 0x04000400
const SIGNS = 0x80008000 | 0

/** True if a bit pattern is neither 0 nor -0. */
export function halvesSomeNonZero(halves: Uint16Array): boolean {
  return halves.some((half) => (half & 0x7fff) !== 0)
}

/** True if no bit pattern is NaN or infinite. Tests eight at a time, since every vector is checked whenever it is copied. */
export function halvesFinite(halves: Uint16Array): boolean {
  const aligned = halves.byteOffset % 4 === 0 ? Math.floor(halves.length / 8) : 0
  const words = new Uint32Array(halves.buffer, aligned === 0 ? 0 : halves.byteOffset, aligned * 4)
  for (let i = 0; i < words.length; i += 4) {
    const carried =
      (((words[i] as number) & EXPONENTS) + ONES) |
      (((words[i + 1] as number) & EXPONENTS) + ONES) |
      (((words[i + 2] as number) & EXPONENTS) + ONES) |
      (((words[i + 3] as number) & EXPONENTS) + ONES)
    if ((carried & SIGNS) !== 0) return false
  }
  for (let i = aligned * 8; i < halves.length; i++) if (isSpecial(halves[i] as number)) return false
  return true
}

/** NaN and infinities have all exponent bits set. */
function isSpecial(half: number): boolean {
  return (half & EXPONENT) === EXPONENT
}
