import type { Table as ArrowTable } from 'apache-arrow'
import { at } from '../../base/at.ts'
import { eventLoopYielder } from '../../base/yield-to-event-loop.ts'
import { sqlIds, sqlIn } from '../table/sql.ts'
import { CONTENT_OF_HASH, contentPart, sameVector } from '../hash.ts'
import type { Table } from '../table/lance.ts'
import { checkVectorCount, halvesAt, packVector, stringAt, type Rows } from '../table/rows.ts'
import { passageText, type Embed } from '../contract.ts'
import { chunks, storedHashes } from '../table/write.ts'
import type { PlannedRow } from './plan/plan.ts'

/** Texts per call of the embedder: several of its batches, so that it is never idle, few enough for prompt cancellation. */
const TEXTS_PER_CALL = 128

/** A shard whose vectors are ready. */
export interface PreparedShard {
  readonly number: number
  /** Passages in the shard. */
  readonly size: number
  /** Rows to write; empty if all of them are in the table. */
  readonly planned: readonly PlannedRow[]
  readonly rows: Rows
  /** The rows as Arrow, encoded while the previous shard is committed. */
  readonly source?: ArrowTable
  /** Last rows of split documents and files, whose stale passages must be deleted. */
  readonly ends: readonly PlannedRow[]
  /** Number of passages embedded, and of those whose vectors were known. */
  readonly embedded: number
  readonly skipped: number
}

export interface PrepareOptions {
  readonly dimension: number
  readonly embed: Embed
  /** Live table to write to, where rows may exist already. */
  readonly present: Table | undefined
  /** Table of the same model from which vectors of equal passages are copied. */
  readonly previous: Table | undefined
  /** Also match passages with another id: from renamed files, or moved within one. Reads a column of the table for every shard. */
  readonly byContent?: boolean | undefined
  /** Precomputed vectors of the shard's passages, in order; nothing is embedded or copied then. */
  readonly ready?: Uint16Array | undefined
  readonly signal: AbortSignal
  readonly onEmbedded: (count: number) => void
}

/** Determines which rows of a shard to write, and embeds those without a vector in groups of similar length (unless vectors are given). */
export async function prepareShard(number: number, shard: readonly PlannedRow[], options: PrepareOptions): Promise<PreparedShard> {
  const { dimension, embed, present, previous, byContent, ready, signal, onEmbedded } = options
  const known = present === undefined ? undefined : await storedHashes(present, idsOf(shard))
  const planned = known === undefined ? shard : shard.filter((row) => known.get(row.passage.id) !== row.hash)
  if (ready !== undefined) {
    onEmbedded(planned.length)
    return prepared({ number, shard, planned, halves: picked(ready, shard, planned, dimension), embedded: planned.length })
  }
  const halves = new Uint16Array(planned.length * dimension)
  const unknown = previous === undefined ? [...planned.keys()] : await takeOver(previous, planned, halves, dimension)
  const into = { planned, halves, dimension }
  const open = previous === undefined || byContent !== true ? unknown : await takeOverByContent(previous, unknown, into)
  const byLength = open.map((row) => ({ row, text: textAt(planned, row) })).sort((a, b) => b.text.length - a.text.length)
  const yieldToEventLoop = eventLoopYielder()
  for (const some of chunks(byLength, TEXTS_PER_CALL)) {
    const pause = yieldToEventLoop()
    if (pause !== undefined) await pause
    signal.throwIfAborted()
    const vectors = await embed(
      some.map(({ text }) => text),
      signal,
    )
    checkVectorCount(vectors.length, some.length)
    for (const [i, vector] of vectors.entries()) {
      const { row } = at(some, i)
      packVector({ id: at(planned, row).passage.id, vector }, halves, row, dimension)
    }
    onEmbedded(some.length)
  }
  return prepared({ number, shard, planned, halves, embedded: open.length })
}

interface Parts {
  readonly number: number
  readonly shard: readonly PlannedRow[]
  readonly planned: readonly PlannedRow[]
  readonly halves: Uint16Array
  readonly embedded: number
}

function prepared({ number, shard, planned, halves, embedded }: Parts): PreparedShard {
  return {
    number,
    size: shard.length,
    planned,
    rows: { passages: planned.map((row) => row.passage), hashes: planned.map((row) => row.hash), halves },
    ends: shard.filter((row) => row.parts !== undefined || row.whole !== undefined),
    embedded,
    skipped: shard.length - embedded,
  }
}

/** Selects the vectors of the rows to write. */
function picked(ready: Uint16Array, shard: readonly PlannedRow[], planned: readonly PlannedRow[], dimension: number): Uint16Array {
  if (planned.length === shard.length) return ready
  const wanted = new Set(planned)
  const halves = new Uint16Array(planned.length * dimension)
  let to = 0
  for (const [from, row] of shard.entries()) {
    if (!wanted.has(row)) continue
    halves.set(ready.subarray(from * dimension, (from + 1) * dimension), to)
    to += dimension
  }
  return halves
}

function idsOf(rows: readonly PlannedRow[]): string[] {
  return rows.map((row) => row.passage.id)
}

function textAt(rows: readonly PlannedRow[], row: number): string {
  return passageText(at(rows, row).passage)
}

/** Copies the vectors of passages with the same title and text. @returns the rows that have none. */
async function takeOverByContent(
  previous: Table,
  rows: readonly number[],
  { planned, halves, dimension }: { readonly planned: readonly PlannedRow[]; readonly halves: Uint16Array; readonly dimension: number },
): Promise<number[]> {
  const open = new Map<string, number[]>()
  for (const row of rows) {
    const content = contentPart(at(planned, row).hash)
    open.set(content, [...(open.get(content) ?? []), row])
  }
  for (const some of chunks([...open.keys()], 1000)) {
    const found = await previous.query().where(sqlIn(CONTENT_OF_HASH, some)).select(['hash', 'vector']).toArrow()
    for (let row = 0; row < found.numRows; row++) {
      const content = contentPart(stringAt(found, 'hash', row))
      for (const to of open.get(content) ?? []) halves.set(halvesAt(found, row), to * dimension)
      open.delete(content)
    }
  }
  return [...open.values()].flat()
}

/** Copies the vectors of unchanged passages. @returns the rows that have none. */
async function takeOver(previous: Table, planned: readonly PlannedRow[], halves: Uint16Array, dimension: number): Promise<number[]> {
  const open = new Map(planned.map(({ passage, hash }, row) => [passage.id, { row, hash }]))
  for (const ids of chunks(idsOf(planned), 1000)) {
    const found = await previous.query().where(sqlIds(ids)).select(['id', 'hash', 'vector']).toArrow()
    for (let row = 0; row < found.numRows; row++) {
      const id = stringAt(found, 'id', row)
      const wanted = open.get(id)
      if (wanted === undefined || !sameVector(wanted.hash, stringAt(found, 'hash', row))) continue
      halves.set(halvesAt(found, row), wanted.row * dimension)
      open.delete(id)
    }
  }
  return [...open.values()].map(({ row }) => row)
}
