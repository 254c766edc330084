import { at } from '../../base/at.ts'
import { eventLoopYielder } from '../../base/yield-to-event-loop.ts'
import { chunks, sqlIds, sqlIn, storedRows, type StoredRows } from '../table/write.ts'
import { CONTENT_OF_HASH, contentPart, sameVector } from '../hash.ts'
import type { Table } from '../table/lance.ts'
import { checkVectorCount, halvesAt, packVector, pickHalves, stringAt, type Rows } from '../table/rows.ts'
import { passageText, type Embed } from '../contract.ts'
import type { DocumentEnd } from '../write/change-rows.ts'
import type { PlannedRow } from './plan/plan.ts'

/** Texts per call of the embedder: several of its batches, so that it is never idle, few enough for prompt cancellation. */
const TEXTS_PER_CALL = 128

/** A shard whose vectors are ready. */
export interface PreparedShard {
  readonly number: number
  /** All of its passages. */
  readonly ids: readonly string[]
  /** Rows to write; empty if all of them are in the table. */
  readonly rows: Rows
  /** Ids that have several rows in the table. */
  readonly doubled: readonly string[]
  /** Split documents and files that end in the shard. */
  readonly ends: readonly DocumentEnd[]
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
  const ids = idsOf(shard)
  const { hashes: known, doubled } = present === undefined ? NOTHING : await storedRows(present, ids)
  const open = [...shard.keys()].filter((row) => known.get(at(ids, row)) !== at(shard, row).hash)
  const planned = open.map((row) => at(shard, row))
  const prepared = (halves: Uint16Array, embedded: number): PreparedShard => ({
    number,
    ids,
    rows: { passages: planned.map((row) => row.passage), hashes: planned.map((row) => row.hash), halves },
    doubled: [...doubled],
    ends: shard.flatMap(endsOf),
    embedded,
    skipped: shard.length - embedded,
  })
  if (ready !== undefined) {
    onEmbedded(planned.length)
    return prepared(pickHalves(ready, open, dimension), planned.length)
  }
  const halves = new Uint16Array(planned.length * dimension)
  const unknown = previous === undefined ? [...planned.keys()] : await takeOver(previous, planned, halves, dimension)
  const into = { planned, halves, dimension }
  const unembedded = previous === undefined || byContent !== true ? unknown : await takeOverByContent(previous, unknown, into)
  const byLength = unembedded.map((row) => ({ row, text: textAt(planned, row) })).sort((a, b) => b.text.length - a.text.length)
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
  return prepared(halves, unembedded.length)
}

const NOTHING: StoredRows = { hashes: new Map(), doubled: new Set() }

/** What is complete with a row. */
function endsOf({ passage: { id }, parts, whole }: PlannedRow): DocumentEnd[] {
  const document = parts === undefined ? [] : [{ document: id.slice(0, id.lastIndexOf('#')), parts }]
  return whole === undefined ? document : [...document, whole]
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
