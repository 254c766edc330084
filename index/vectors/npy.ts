import { open, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { fileBytes, readLines } from '../../base/files.ts'
import { READ_LIMITS } from '../read/contract.ts'
import { checkedId, type Matrix, NUMBER_BYTES, numberType, READ_ARRAYS, refuse, type VectorSource } from './rows.ts'

export const NPY_MAGIC = Buffer.from('\x93NUMPY', 'latin1')
/** Magic, version, and the length of the header in the longer of its two forms. */
const HEAD_BYTES = 12
const MAX_HEADER_BYTES = 65_536

/** Opens the vectors of a .npy file (numpy/lib/format.py); ids of `vectors.npy` are lines of `vectors.ids.txt`. @throws corpus_invalid */
export async function openNpy(path: string): Promise<VectorSource> {
  const name = basename(path)
  const matrix = await readNpyHeader(path)
  const idFile = `${path.replace(/\.npy$/i, '')}.ids.txt`
  if ((await stat(idFile).catch(() => undefined))?.isFile() !== true)
    refuse(name, `has no ids: put them into ${idFile}, the id of one row a line`)
  return { ...matrix, name, path, ids: () => idLines(idFile) }
}

async function readNpyHeader(path: string): Promise<Matrix> {
  const name = basename(path)
  await using file = await open(path, 'r')
  const head = Buffer.alloc(HEAD_BYTES)
  await file.read(head, 0, HEAD_BYTES, 0)
  const long = head[NPY_MAGIC.length] !== 1
  const start = long ? HEAD_BYTES : HEAD_BYTES - 2
  const length = long ? head.readUInt32LE(8) : head.readUInt16LE(8)
  if (length > MAX_HEADER_BYTES) refuse(name, `has a header of ${length} bytes`)
  const header = Buffer.alloc(length)
  await file.read(header, 0, length, start)
  const text = header.toString('latin1')
  const type = numberType(/'descr':\s*'([^']*)'/.exec(text)?.[1] ?? '')
  const [rows, dimension, ...more] = (/'shape':\s*\(([^)]*)\)/.exec(text)?.[1] ?? '')
    .split(',')
    .filter((part) => part.trim() !== '')
    .map(Number)
  if (type === undefined || rows === undefined || dimension === undefined || more.length > 0 || !/'fortran_order':\s*False/.test(text))
    return refuse(name, `holds ${text.trim().slice(0, 200)}: ${READ_ARRAYS}`)
  const offset = start + length
  const [expected, { size }] = [offset + rows * dimension * NUMBER_BYTES[type], await file.stat()]
  if (size !== expected) refuse(name, `has ${size} bytes in place of ${expected}: it is truncated, or has trailing bytes`)
  return { type, rows, dimension, offset }
}

/** The ids of a text file, one per line. @throws vectors_invalid naming the line */
export async function* idLines(path: string): AsyncGenerator<string> {
  for await (const line of readLines(fileBytes(path), READ_LIMITS.lineBytes)) {
    const at = `line ${line.line}`
    if ('reason' in line) refuse(basename(path), `is no list of ids: ${at}: ${line.detail}`)
    else yield checkedId(line.text, basename(path), at)
  }
}
