import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import t from 'tap'
import { present } from '../../../base/at.ts'
import { openWeightFile } from '../../../models/checkpoint/file.ts'
import { PICKLE_LIMITS } from '../../../base/pickle/machine.ts'
import { readTorchIndex } from '../../../models/checkpoint/torch.ts'
import { f32Torch, op, stateDictPickle, tensorPickle, torchZip, zipOf } from '../../fixtures/weights.ts'
import { writeZip64, type ZipEntry } from '../../fixtures/zip64.ts'

async function readPath(path: string) {
  const file = await openWeightFile(path)
  const index = await readTorchIndex(file)
  const values = new Map<string, number[]>()
  for (const { name, offset, bytes, dtype } of index.tensors) {
    if (dtype === 'F32' && bytes <= 1024) values.set(name, [...new Float32Array((await file.read(offset, bytes)).buffer)])
  }
  return { ...index, values }
}

function read(t: { testdir(): string }, bytes: Uint8Array) {
  const path = join(t.testdir(), 'pytorch_model.bin')
  writeFileSync(path, bytes)
  return readPath(path)
}

function floats(...values: readonly number[]): Uint8Array {
  return new Uint8Array(Float32Array.from(values).buffer)
}
const sixFloats = floats(1, 2, 3, 4, 5, 6)
const whole = { storage: '0', elements: 6, shape: [2, 3] }

t.test('a state dict gives every tensor and its bytes', async (t) => {
  const { tensors, values } = await read(t, f32Torch({ a: { shape: [2, 3], values: [1, 2, 3, 4, 5, 6] }, b: { shape: [1], values: [7] } }))
  t.match(tensors, [
    { name: 'a', dtype: 'F32', shape: [2, 3], bytes: 24 },
    { name: 'b', shape: [1], bytes: 4 },
  ])
  t.same(
    [...values],
    [
      ['a', [1, 2, 3, 4, 5, 6]],
      ['b', [7]],
    ],
  )
})

t.test('tensors that share a storage, and views into it', async (t) => {
  const pickle = stateDictPickle({
    tied: tensorPickle(whole),
    same: tensorPickle(whole),
    row: tensorPickle({ ...whole, shape: [1, 3], strides: [99, 1], offset: 3 }),
  })
  const { tensors, values } = await read(t, torchZip(pickle, { 0: sixFloats }))
  t.equal(tensors[0]?.offset, tensors[1]?.offset)
  t.same(values.get('row'), [4, 5, 6])
})

t.test('a changed byte of a tensor or of the pickle is found by the CRC-32, where torch.save has written one', async (t) => {
  const pickle = stateDictPickle({ a: tensorPickle(whole), row: tensorPickle({ ...whole, shape: [1, 3], strides: [3, 1], offset: 3 }) })
  const bytes = Buffer.from(torchZip(pickle, { 0: sixFloats }))
  const [dataAt, pickleAt] = [bytes.indexOf(sixFloats), bytes.indexOf(pickle)]
  const path = join(t.testdir(), 'pytorch_model.bin')
  const reading = async (content: Uint8Array) => {
    writeFileSync(path, content)
    const { tensors, read } = await readTorchIndex(await openWeightFile(path))
    const values: number[][] = []
    for (const tensor of tensors) values.push([...new Float32Array((await present(read)(tensor)).data.buffer)])
    return values
  }
  const right = [
    [1, 2, 3, 4, 5, 6],
    [4, 5, 6],
  ]
  t.same(await reading(bytes), right)
  const changed = (at: number): Buffer => {
    const copy = Buffer.from(bytes)
    copy[at] = (copy[at] ?? 0) ^ 1
    return copy
  }
  for (const at of [0, 11, 23])
    await t.rejects(reading(changed(dataAt + at)), {
      code: 'checkpoint_invalid',
      field: path,
      message: 'pytorch_model.bin: entry archive/data/0 is damaged: its CRC-32 differs; download the file again',
    })
  for (let at = 0; at < pickle.length; at++)
    await t.rejects(reading(changed(pickleAt + at)), { message: /^pytorch_model\.bin: entry data\.pkl is damaged/ })
  const without = changed(dataAt)
  for (const data of [sixFloats, pickle]) {
    const stored = Buffer.alloc(4)
    stored.writeUInt32LE(crc32(data))
    for (let at = without.indexOf(stored); at >= 0; at = without.indexOf(stored)) without.fill(0, at, at + 4)
  }
  t.same((await reading(without))[1], [4, 5, 6], 'saved without sums')
})

t.test('every storage type', async (t) => {
  const types = {
    FloatStorage: ['F32', 4],
    HalfStorage: ['F16', 2],
    BFloat16Storage: ['BF16', 2],
    DoubleStorage: ['F64', 8],
    LongStorage: ['I64', 8],
    IntStorage: ['I32', 4],
    ShortStorage: ['I16', 2],
    CharStorage: ['I8', 1],
    ByteStorage: ['U8', 1],
    BoolStorage: ['BOOL', 1],
  } as const
  const names = Object.entries(types)
  const pickle = stateDictPickle(
    Object.fromEntries(names.map(([type]) => [type, tensorPickle({ storage: type, elements: 2, shape: [2], type })])),
  )
  const { tensors } = await read(t, torchZip(pickle, Object.fromEntries(names.map(([type, [, size]]) => [type, Buffer.alloc(2 * size)]))))
  t.same(
    tensors.map(({ name, dtype, bytes }) => [name, dtype, bytes]),
    names.map(([type, [dtype, size]]) => [type, dtype, 2 * size]),
  )
})

t.test('parameters, and protocol 4 with its stack globals and memo', async (t) => {
  const parameter = Buffer.concat([
    op.global('torch._utils', '_rebuild_parameter'),
    op.mark,
    tensorPickle(whole),
    op.no,
    op.emptyDict,
    op.tuple,
    op.reduce,
  ])
  const pickle = Buffer.concat([
    op.proto(4),
    op.text('collections'),
    op.memoize,
    op.text('OrderedDict'),
    op.memoize,
    op.stackGlobal,
    op.emptyTuple,
    op.reduce,
    op.text('w'),
    parameter,
    op.setItem,
    op.stop,
  ])
  t.same((await read(t, torchZip(pickle, { 0: sixFloats }))).values.get('w'), [1, 2, 3, 4, 5, 6])
})

t.test('a file beyond 4 GiB (zip64) is read in place', async (t) => {
  const big = 5 * 2 ** 30
  const pickle = stateDictPickle({
    big: tensorPickle({ storage: 'big', elements: big / 4, shape: [big / 4] }),
    small: tensorPickle({ storage: 'small', elements: 2, shape: [2] }),
  })
  const path = join(t.testdir(), 'pytorch_model.bin')
  const entry = (name: string, bytes: Uint8Array): ZipEntry => ({ name, size: bytes.length, content: () => [bytes] })
  await writeZip64(path, [
    entry('x/data.pkl', pickle),
    { name: 'x/data/big', size: big, content: 'zeros' },
    entry('x/data/small', floats(8, 9)),
  ])
  const { tensors, values } = await readPath(path)
  t.equal(tensors[0]?.bytes, big)
  t.ok((tensors[1]?.offset ?? 0) > big)
  t.same(values.get('small'), [8, 9])
})

function call(module: string, name: string, ...args: readonly Uint8Array[]): Buffer {
  return Buffer.concat([op.global(module, name), op.mark, ...args, op.tuple, op.reduce])
}
function asEntry(value: Uint8Array): Uint8Array {
  return torchZip(stateDictPickle({ w: value }), { 0: sixFloats })
}
function program(...steps: readonly Uint8Array[]): Uint8Array {
  return torchZip(Buffer.concat([op.proto(), ...steps, op.stop]), { 0: sixFloats })
}
function tensor(changes: object): Uint8Array {
  return asEntry(tensorPickle({ ...whole, ...changes }))
}

const REFUSED: readonly [string, Uint8Array, RegExp, string?][] = [
  ['os.system', program(call('os', 'system', op.text('touch /tmp/owned'))), /names "os\.system"/],
  ['posix.system', program(call('posix', 'system', op.text('id'))), /names "posix\.system"/],
  ['builtins.eval as a stack global', program(op.text('builtins'), op.text('eval'), op.stackGlobal), /names "builtins\.eval"/],
  ['an unknown torch global', asEntry(call('torch._utils', '_rebuild_sparse_tensor')), /names "torch\._utils\._rebuild_sparse_tensor"/],
  ['an untyped storage', tensor({ type: 'UntypedStorage' }), /names "torch\.UntypedStorage"/],
  ['OrderedDict called with arguments', program(call('collections', 'OrderedDict', op.emptyList)), /calls collections\.OrderedDict with 1/],
  ['calling a string', program(op.text('x'), op.emptyTuple, op.reduce), /calls an unknown name/],
  [
    'a dictionary that holds itself',
    program(op.emptyDict, op.put(0), op.text('k'), op.get(0), op.setItem),
    /dictionary that contains itself/,
  ],
  ['a list that holds itself', program(op.emptyList, op.put(0), op.get(0), op.append), /list that contains itself/],
  [
    'a cycle through a tuple',
    program(op.emptyDict, op.put(0), op.text('k'), op.get(0), op.tuple1, op.setItem),
    /entry "k" of the state dict is a tuple/,
  ],
  ['a value never stored', program(op.get(7)), /recalls value 7/],
  ['an empty stack', program(op.append), /empty stack/],
  ['a mark that was never set', program(op.tuple), /mark that was never set/],
  ['a key without a value', program(op.emptyDict, op.mark, op.text('k'), op.setItems), /key without a value/],
  ['two results', program(op.emptyDict, op.emptyDict), /leaves more than one value/],
  ['an instruction that torch never writes', program(Buffer.from('I1\n')), /instruction 0x49/],
  ['INST, which names and calls at once', program(Buffer.from('(ios\nsystem\n')), /instruction 0x69/],
  ['a program without an end', torchZip(Buffer.concat([op.proto(), op.emptyDict])), /ends in the middle/],
  ['a program with two ends', program(op.emptyDict, op.stop), /has data after its end/],
  ['an old protocol', torchZip(Buffer.from('}.')), /protocol/],
  ['a string of 4 GiB', program(op.textOfLength(0xffffffff)), /string of 4294967295 bytes, more than/],
  ['a string longer than the program', program(op.textOfLength(4000)), /ends in the middle/],
  ['a stack without bound', program(Buffer.alloc(PICKLE_LIMITS.stack + 1, op.none)), /nests deeper/],
  ['marks without bound', program(Buffer.alloc(PICKLE_LIMITS.stack + 1, op.mark)), /nests deeper/],
  ['a memo without bound', program(op.none, Buffer.alloc(PICKLE_LIMITS.memo + 1, op.memoize)), /remembers more than/],
  ['a pickle without bound', torchZip(Buffer.alloc(PICKLE_LIMITS.bytes + 1)), /data\.pkl has \d+ bytes, more than/],
  ['an integer beyond 2^53', program(Buffer.from([0x8a, 8, 0, 0, 0, 0, 0, 0, 0, 0x7f])), /beyond 2\^53/],
  ['a list instead of a state dict', program(op.emptyList), /holds a list instead of a state dict/],
  ['a nested state dict', asEntry(Buffer.concat([op.emptyDict])), /entry "w" of the state dict is a dictionary, not a tensor/],
  ['an absurd shape', tensor({ shape: [2 ** 40, 2 ** 40] }), /tensor w .* reaches beyond its storage/],
  ['a shape larger than the storage', tensor({ shape: [7] }), /tensor w \[7\] at 0 reaches beyond/],
  ['an offset beyond the storage', tensor({ shape: [3], offset: 4 }), /at 4 reaches beyond/],
  ['a negative offset', tensor({ offset: -1 }), /instead of storage, offset/],
  ['a negative dimension', tensor({ shape: [-2, -3] }), /instead of storage, offset/],
  ['nine dimensions', tensor({ shape: [1, 1, 1, 1, 1, 1, 1, 1, 6] }), /at most 8 dimensions/],
  ['shape and strides of different length', tensor({ strides: [1] }), /instead of storage, offset/],
  ['a storage larger than its entry', tensor({ elements: 7 }), /has 24 bytes for 7 elements/],
  ['a storage that is missing', tensor({ storage: '../../etc/passwd' }), /which the archive lacks/],
  ['a transposed tensor', tensor({ strides: [1, 2] }), /tensor w .*strides \[1, 2\]; only contiguous/, 'unsupported'],
  ['a zero-stride expansion', tensor({ shape: [2, 3], strides: [0, 1] }), /strides \[0, 1\]/, 'unsupported'],
  [
    'a big-endian file',
    zipOf([
      { name: 'a/data.pkl', data: stateDictPickle({}) },
      { name: 'a/byteorder', data: Buffer.from('big') },
    ]),
    /byte order "big"/,
    'unsupported',
  ],
  [
    'a compressed entry',
    zipOf([{ name: 'a/data.pkl', data: stateDictPickle({}), compress: true }]),
    /"a\/data\.pkl" is compressed/,
    'unsupported',
  ],
  [
    'a zip bomb',
    torchZip(stateDictPickle({ w: tensorPickle({ storage: 'b', elements: 250_000, shape: [250_000] }) }), {}, [
      { name: 'archive/data/b', data: Buffer.alloc(1_000_000), compress: true },
    ]),
    /is compressed/,
    'unsupported',
  ],
  [
    'an entry twice',
    zipOf([
      { name: 'a/data.pkl', data: stateDictPickle({}) },
      { name: 'a/data.pkl', data: stateDictPickle({}) },
    ]),
    /occurs twice/,
  ],
  ['a zip without a pickle', zipOf([{ name: 'a/readme', data: Buffer.from('x') }]), /zip without data\.pkl/],
  ['a file that is no zip', Buffer.from('\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.', 'latin1'), /no readable zip.*older than torch 1\.6/],
  ['a truncated zip', f32Torch({ a: { shape: [6], values: [1, 2, 3, 4, 5, 6] } }).subarray(0, 200), /no readable zip/],
]

for (const [what, bytes, message, code = 'checkpoint_invalid'] of REFUSED) {
  t.test(`${what} is refused`, (t) => t.rejects(read(t, bytes), { name: 'CodedError', code, message }))
}

t.test('entries that overlap are refused', async (t) => {
  const bytes = Buffer.from(
    zipOf([
      { name: 'a/data.pkl', data: stateDictPickle({}) },
      { name: 'a/data/0', data: Buffer.alloc(64) },
      { name: 'a/data/1', data: Buffer.alloc(4) },
    ]),
  )
  const second = bytes.lastIndexOf('a/data/1')
  const first = bytes.indexOf('PK\x03\x04', 4, 'latin1')
  bytes.writeUInt32LE(first, second - 4)
  await t.rejects(read(t, bytes), { code: 'checkpoint_invalid', message: /overlaps another/ })
})
