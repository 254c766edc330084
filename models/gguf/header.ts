import { basename } from 'node:path'
import { elementCount } from '../checkpoint/dtype.ts'
import type { WeightFile } from '../checkpoint/file.ts'
import { damagedFile, invalid, unsupported } from '../errors.ts'
import { type GgufCursor, ggufCursor, metadataValue, type MetadataValue } from './metadata.ts'
import { GGUF_TYPES, OTHER_TYPES, TYPES_BY_ID } from './types.ts'

/** Limit for metadata and tensor list; a vocabulary of 262,144 tokens takes some 16 MB. */
const MAX_HEADER_BYTES = 64 * 1024 * 1024
/** Limit of entries over all metadata lists: three lists of a vocabulary, and its merges. */
const MAX_LIST_ENTRIES = 1 << 22
const MAX_DIMENSIONS = 4
/** Minimum bytes of an entry (length of its name, type, one byte) and of a tensor (length of its name, dimensions, type, offset). */
const LEAST_BYTES = { entry: 13, tensor: 24 } as const
const DEFAULT_ALIGNMENT = 32

function readVersion(cursor: GgufCursor, file: string, path: string): number {
  if (cursor.left() < 24 || cursor.uint32() !== 0x46554747)
    throw invalid(`${file} is no GGUF file: it does not begin with GGUF; give a .gguf file or a Hugging Face folder`, path)
  const version = cursor.uint32()
  if (version === 2 || version === 3) return version
  if (version >>> 16 !== 0)
    throw unsupported(`${file} is a big-endian GGUF file; only little-endian files are read: convert the model again`, path)
  throw unsupported(`${file} is GGUF version ${version}; supported are 2 and 3: convert the model again with a current llama.cpp`, path)
}

function readCount(cursor: GgufCursor, what: keyof typeof LEAST_BYTES, file: string, path: string): number {
  const count = cursor.uint64()
  if (count * LEAST_BYTES[what] > cursor.left())
    throw damagedFile(`${file} claims ${count} of its ${what === 'entry' ? 'metadata entries' : 'tensors'}, more than its bytes hold`, path)
  return count
}

function readMetadata(cursor: GgufCursor, count: number, file: string): Map<string, MetadataValue> {
  const metadata = new Map<string, MetadataValue>()
  const budget = { entries: MAX_LIST_ENTRIES }
  for (let index = 0; index < count; index++) {
    const key = cursor.string()
    if (metadata.has(key)) throw invalid(`${file} holds the metadata ${JSON.stringify(key)} twice; convert the model again`, key)
    metadata.set(key, metadataValue(cursor, key, budget))
  }
  return metadata
}

/** A tensor as listed in the header: its offset is relative to the data section. */
function readListed(cursor: GgufCursor, file: string) {
  const name = cursor.string()
  const dimensions = cursor.uint32()
  const message = `${file}: tensor ${JSON.stringify(name)} claims ${dimensions} dimensions; at most ${MAX_DIMENSIONS} are possible`
  if (dimensions > MAX_DIMENSIONS) throw damagedFile(message, name)
  const dims = Array.from({ length: dimensions }, () => cursor.uint64())
  return { name, dims, typeId: cursor.uint32(), offset: cursor.uint64() }
}

function locate({ name, dims, typeId, offset }: ReturnType<typeof readListed>, dataStart: number, alignment: number, file: WeightFile) {
  const at = `${basename(file.path)}: tensor ${JSON.stringify(name)}`
  const type = TYPES_BY_ID.get(typeId)
  const unknownType = `${at} is of the type ${OTHER_TYPES[typeId] ?? `number ${typeId}`}; supported are ${Object.keys(GGUF_TYPES).join(', ')}: take the model in one of these`
  if (type === undefined) throw unsupported(unknownType, name)
  const count = elementCount(dims)
  const { weights, bytes: blockBytes } = GGUF_TYPES[type]
  if (count === undefined || count === 0) throw damagedFile(`${at} has the impossible dimensions [${dims.join(', ')}]`, name)
  const [rowLength = 1] = dims
  if (rowLength % weights !== 0)
    throw damagedFile(`${at} has rows of ${rowLength} weights, no multiple of the ${weights} of a ${type} block`, name)
  if (offset % alignment !== 0) throw damagedFile(`${at} begins at ${offset}, no multiple of the alignment ${alignment}`, name)
  const bytes = (count / weights) * blockBytes
  const truncated = `${at} lies in bytes ${dataStart + offset} to ${dataStart + offset + bytes}, the file has ${file.size}: it is truncated`
  if (dataStart + offset + bytes > file.size) throw damagedFile(truncated, name)
  // Row-major: the reverse of GGUF's order.
  return { name, type, shape: dims.toReversed(), offset: dataStart + offset, bytes }
}
export type GgufTensor = ReturnType<typeof locate>

function alignmentOf(metadata: ReadonlyMap<string, MetadataValue>, file: string): number {
  const alignment = metadata.get('general.alignment') ?? DEFAULT_ALIGNMENT
  if (typeof alignment !== 'number' || !Number.isSafeInteger(alignment) || alignment < 8 || alignment > 1 << 20 || alignment % 8 !== 0)
    throw damagedFile(`${file}: general.alignment must be a multiple of 8 up to ${1 << 20}`, 'general.alignment')
  return alignment
}

function checkApart(tensors: readonly GgufTensor[], file: string): void {
  if (new Set(tensors.map(({ name }) => name)).size !== tensors.length)
    throw invalid(`${file} lists a tensor twice; convert the model again`, 'tensors')
  const ordered = tensors.toSorted((a, b) => a.offset - b.offset)
  ordered.forEach(({ name, offset }, index) => {
    const before = ordered[index - 1]
    if (before && before.offset + before.bytes > offset)
      throw invalid(`${file}: tensors ${JSON.stringify(before.name)} and ${JSON.stringify(name)} overlap; convert the model again`, name)
  })
}

/**
 * Reads a GGUF file's header: metadata, and the location of each tensor, validated to be inside the file. Counts and lengths are compared
 * with the available bytes before anything is allocated. `bytes` describe metadata and tensors.
 * @throws checkpoint_invalid for a damaged file; unsupported for another version, byte order or tensor type
 */
export async function readGgufHeader(file: WeightFile) {
  const name = basename(file.path)
  const head = await file.read(0, Math.min(file.size, MAX_HEADER_BYTES))
  const cursor = ggufCursor(head, () =>
    file.size > head.length
      ? damagedFile(`${name}: metadata and tensor list exceed the limit of ${MAX_HEADER_BYTES} bytes`, file.path)
      : damagedFile(`${name} ends inside its metadata or tensor list: it is truncated or damaged`, file.path),
  )
  const version = readVersion(cursor, name, file.path)
  const tensorCount = readCount(cursor, 'tensor', name, file.path)
  const metadata = readMetadata(cursor, readCount(cursor, 'entry', name, file.path), name)
  const alignment = alignmentOf(metadata, name)
  const listed = Array.from({ length: tensorCount }, () => readListed(cursor, name))
  const dataStart = Math.ceil(cursor.at() / alignment) * alignment
  const tensors = listed.map((tensor) => locate(tensor, dataStart, alignment, file))
  checkApart(tensors, name)
  return { version, metadata, tensors, bytes: head.slice(0, cursor.at()) }
}
export type GgufHeader = Awaited<ReturnType<typeof readGgufHeader>>
