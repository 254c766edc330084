import { createHash } from 'node:crypto'
import type { Passage } from './contract.ts'

/** Characters for title and text: 96 bits. */
const TEXT_PART = 16
/** Characters for the source: 36 bits, since sources are few. */
const SOURCE_PART = 6
/** Characters for the metadata, if any: 72 bits. */
const METADATA_PART = 12

function base64Hash(text: string, length: number): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, length)
}

/**
 * Fingerprint of everything that is stored of a passage except its id: SHA-256 as base64url, shortened. Its first part
 * covers what is embedded, so that a passage which only came from another file keeps its vector.
 */
export function contentHash({ title, text, source = '', metadata }: Passage): string {
  const known = base64Hash(JSON.stringify([title, text]), TEXT_PART) + base64Hash(source, SOURCE_PART)
  return metadata === undefined
    ? known
    : known + base64Hash(JSON.stringify(Object.entries(metadata).sort(([a], [b]) => (a < b ? -1 : 1))), METADATA_PART)
}

/** The part of a content hash that covers title and text: passages with equal parts have the same vector. */
export function contentPart(hash: string): string {
  return hash.slice(0, TEXT_PART)
}

/** `contentPart` as SQL over the column; LanceDB has no substr. */
export const CONTENT_OF_HASH = `left(hash, ${TEXT_PART})`

/** Digest of a set of rows in any order: the sum modulo 2^64 of 64 bits of SHA-256 of each id and content hash. */
export class RowsDigest {
  #sum = 0n

  add(id: string, hash: string): void {
    const fingerprint = createHash('sha256').update(`${id}\u0000${hash}`).digest().readBigUInt64LE(0)
    this.#sum = BigInt.asUintN(64, this.#sum + fingerprint)
  }

  addAll(other: RowsDigest): void {
    this.#sum = BigInt.asUintN(64, this.#sum + other.#sum)
  }

  /** In hexadecimal. */
  toString(): string {
    return this.#sum.toString(16)
  }
}
