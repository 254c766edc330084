import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openWeightFile } from '../../../models/checkpoint/file.ts'
import { readSafetensorsIndex } from '../../../models/checkpoint/safetensors.ts'
import { f32Safetensors, safetensorsOf } from '../../fixtures/weights.ts'

async function read(t: { testdir(): string }, bytes: Uint8Array) {
  const path = join(t.testdir(), 'model.safetensors')
  writeFileSync(path, bytes)
  return readSafetensorsIndex(await openWeightFile(path))
}

t.test('the header gives name, dtype, shape and place of every tensor', async (t) => {
  const bytes = f32Safetensors({
    a: { shape: [2, 3], values: [1, 2, 3, 4, 5, 6] },
    empty: { shape: [0, 4], values: [] },
    scalar: { shape: [], values: [7] },
  })
  const { tensors } = await read(t, bytes)
  const dataStart = bytes.length - 28
  t.match(tensors, [
    { name: 'a', dtype: 'F32', shape: [2, 3], offset: dataStart, bytes: 24 },
    { name: 'empty', shape: [0, 4], bytes: 0 },
    { name: 'scalar', shape: [], offset: dataStart + 24, bytes: 4 },
  ])
})

function tensor(begin: number, end: number, shape = [(end - begin) / 4], dtype = 'F32') {
  return { dtype, shape, data_offsets: [begin, end] }
}
const truncatedHeader = safetensorsOf({ a: tensor(0, 4) }).subarray(0, 20)
const hugeHeader = Buffer.alloc(16)
hugeHeader.writeBigUInt64LE(100_000_001n)
const wholeU64 = Buffer.alloc(16, 0xff)

const BROKEN: readonly [string, Uint8Array, RegExp, string?][] = [
  ['an empty file', new Uint8Array(0), /0 bytes, too few/],
  ['a truncated header', truncatedHeader, /header claims \d+ bytes.*truncated/],
  ['a header length above the limit', hugeHeader, /exceeds the limit/],
  ['a header length of 2^64 - 1', wholeU64, /exceeds the limit/],
  ['a header that is not valid JSON', Buffer.concat([Buffer.from([3, 0, 0, 0, 0, 0, 0, 0]), Buffer.from('{a}')]), /not JSON/],
  ['a header that is a list', safetensorsOf([]), /not a JSON object/],
  ['an entry without offsets', safetensorsOf({ a: { dtype: 'F32', shape: [1] } }), /tensor a needs dtype, shape/],
  ['a negative dimension', safetensorsOf({ a: tensor(0, 4, [-1]) }, Buffer.alloc(4)), /tensor a needs dtype, shape/],
  ['overlapping tensors', safetensorsOf({ a: tensor(0, 8), b: tensor(4, 12) }, Buffer.alloc(12)), /tensor b overlaps tensor a/],
  ['the same bytes twice', safetensorsOf({ a: tensor(0, 8), b: tensor(0, 8) }, Buffer.alloc(8)), /tensor b overlaps tensor a/],
  ['a hole', safetensorsOf({ a: tensor(0, 4), b: tensor(8, 12) }, Buffer.alloc(12)), /4 bytes between tensor a and tensor b/],
  ['bytes behind the last tensor', safetensorsOf({ a: tensor(0, 4) }, Buffer.alloc(9)), /5 bytes behind tensor a/],
  ['data that end early', safetensorsOf({ a: tensor(0, 400) }, Buffer.alloc(8)), /tensor a ends at byte.*incomplete/],
  ['offsets that do not fit the shape', safetensorsOf({ a: tensor(0, 8, [3]) }, Buffer.alloc(8)), /tensor a \[3\] F32 needs 12 bytes/],
  ['offsets in reverse', safetensorsOf({ a: tensor(8, 0, [0]) }, Buffer.alloc(8)), /needs 0 bytes/],
  ['a shape whose product overflows', safetensorsOf({ a: tensor(0, 4, [2 ** 40, 2 ** 40]) }, Buffer.alloc(4)), /too many bytes/],
  ['an unknown dtype', safetensorsOf({ a: tensor(0, 4, [1], 'F4') }, Buffer.alloc(4)), /tensor a has the unknown dtype F4/, 'unsupported'],
]

for (const [what, bytes, message, code = 'checkpoint_invalid'] of BROKEN) {
  t.test(`${what} is refused`, (t) => t.rejects(read(t, bytes), { name: 'CodedError', code, message }))
}

t.test('a missing file is refused by path', (t) =>
  t.rejects(openWeightFile(join(t.testdir(), 'gone.safetensors')), { code: 'checkpoint_invalid', message: /gone\.safetensors/ }),
)
