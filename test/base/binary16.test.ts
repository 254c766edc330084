import t from 'tap'
import { bf16ToF32, f16ToF32, f32ToF16, halvesFinite } from '../../base/binary16.ts'
import { assertFinite, toF32 } from '../../models/checkpoint/weights.ts'

/** A half's value from its definition, for comparison with the bit tricks. */
function halfValue(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1
  const exponent = (bits >> 10) & 31
  const fraction = bits & 1023
  if (exponent === 31) return fraction ? NaN : sign * Infinity
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024))
}

t.test('every half decodes to its value, and back to its bits', (t) => {
  const halves = Uint16Array.from({ length: 1 << 16 }, (_, i) => i)
  const floats = f16ToF32(halves)
  const wrong = [...halves].filter((bits) => !Object.is(floats[bits], halfValue(bits)))
  t.same(wrong, [])
  const back = f32ToF16(floats)
  t.same(
    [...halves].filter((bits) => back[bits] !== bits && !Number.isNaN(floats[bits])),
    [],
  )
  t.ok(
    [...halves].every((bits) => !Number.isNaN(floats[bits]) || ((back[bits] ?? 0) & 0x7fff) > 0x7c00),
    'NaN stays NaN',
  )
  t.end()
})

t.test('float32 rounds to the nearest half, ties to even', (t) => {
  const cases: readonly [number, number][] = [
    [1 + 2 ** -11, 0x3c00], // tie between 1 and 1 + 2^-10: even below
    [1 + 3 * 2 ** -11, 0x3c02], // tie: even above
    [1 + 2 ** -11 + 2 ** -20, 0x3c01],
    [65519.996, 0x7bff],
    [65520, 0x7c00],
    [-1e30, 0xfc00],
    [2 ** -25, 0], // tie between 0 and the smallest subnormal
    [2 ** -25 * 1.0001, 1],
    [3 * 2 ** -25, 2], // tie between 1 and 2 subnormal steps
    [-0, 0x8000],
    [2 ** -14 - 2 ** -26, 0x400], // rounds up from subnormal to normal
  ]
  t.same(
    [...f32ToF16(Float32Array.from(cases.map(([value]) => value)))],
    cases.map(([, bits]) => bits),
  )
  t.end()
})

t.test('a number that is not finite is found wherever it stands', (t) => {
  const largest = [0x7bff, 0xfbff]
  for (const [from, length] of [
    [0, 0],
    [0, 7],
    [0, 24],
    [1, 24],
    [2, 21],
  ] as const) {
    const halves = Uint16Array.from({ length: 32 }, (_, i) => largest[i % 2] ?? 0).subarray(from, from + length)
    t.ok(halvesFinite(halves), 'the largest numbers are')
    const missed = [0x7c00, 0xfc00, 0x7e01, 0xffff].flatMap((bits) =>
      [...halves.keys()].filter((i) => {
        const one = halves[i] ?? 0
        halves[i] = bits
        const finite = halvesFinite(halves)
        halves[i] = one
        return finite
      }),
    )
    t.same(missed, [])
  }
  t.end()
})

t.test('bfloat16 is the upper half of a float', (t) => {
  t.same([...bf16ToF32(Uint16Array.of(0x3f80, 0xc049, 0x0001))], [1, -3.140625, 2 ** -133])
  t.end()
})

t.test('weights of every float type become float32; others are refused by name', (t) => {
  const raw = (dtype: 'F16' | 'F64' | 'I64', array: Uint16Array | Float64Array | BigInt64Array) =>
    ({ dtype, shape: [array.length], data: new Uint8Array(array.buffer) }) as const
  t.same([...toF32('w', raw('F16', Uint16Array.of(0x3c00, 0xc000)))], [1, -2])
  t.same([...toF32('w', raw('F64', Float64Array.of(0.5, -3)))], [0.5, -3])
  t.throws(() => toF32('w', raw('F64', Float64Array.of(1e300))), { code: 'checkpoint_invalid', message: /tensor w .* element 0/ })
  t.throws(() => toF32('ids', raw('I64', BigInt64Array.of(1n))), { code: 'unsupported', message: /tensor ids is I64/ })
  t.end()
})

t.test('NaN and infinity are found in every float type', (t) => {
  const bytes = (array: Float32Array | Uint16Array | Float64Array) => new Uint8Array(array.buffer)
  t.throws(() => assertFinite('w', 'F32', bytes(Float32Array.of(1, 3e38, -Infinity))), /element 2/)
  t.doesNotThrow(() => assertFinite('w', 'F32', bytes(Float32Array.of(1, 3e38, -0))))
  t.throws(() => assertFinite('w', 'F16', bytes(Uint16Array.of(0x7bff, 0x7c00))), /element 1/)
  t.throws(() => assertFinite('w', 'BF16', bytes(Uint16Array.of(0x7f7f, 0xffc0))), /element 1/)
  t.throws(() => assertFinite('w', 'F64', bytes(Float64Array.of(1e300, NaN))), /element 1/)
  t.throws(() => assertFinite('lm_head.weight', 'F32', bytes(Float32Array.of(0, NaN))), {
    code: 'checkpoint_invalid',
    message: /lm_head\.weight holds a NaN.*element 1/,
  })
  t.end()
})
