import { createHash } from 'node:crypto'
import type { Passage } from './types.ts'

/**
 * Fingerprint of everything that is stored of a passage except its id: 16 bytes of SHA-256 as base64url.
 * Equal fingerprints mean that the stored vector is still right.
 */
export const contentHash = (passage: Passage): string =>
  createHash('sha256')
    .update(JSON.stringify([passage.title, passage.text, passage.source ?? null]))
    .digest('base64url')
    .slice(0, 22)

/** 64 bits of SHA-256 of an id and its content hash: rows are compared as sets by their sum modulo 2^64. */
export const rowFingerprint = (id: string, hash: string): bigint =>
  createHash('sha256').update(`${id}\u0000${hash}`).digest().readBigUInt64LE(0)
