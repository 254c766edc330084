import { at } from '../../base/at.ts'
import { eventLoopTurn } from '../../base/event-loop-turn.ts'
import { chunks, sqlIn, storedRows } from '../table/write.ts'
import { CONTENT_OF_HASH, contentPart } from '../hash.ts'
import type { Table } from '../table/lance.ts'
import { checkVectorCount, halvesOf, packVector, pickHalves, stringsOf } from '../table/rows.ts'
import { passageText } from '../contract.ts'
import type { DocumentEnd } from '../write/change-rows.ts'
import { report, type JobRun } from './job-run.ts'
import { readShard, type PlannedRow } from './plan/plan.ts'

/** Number of committed shards after which fragments are compacted. */
const COMPACT_AFTER = 64

/** Texts per call of the embedder: several of its batches, so that it is never idle, few enough for prompt cancellation. */
const TEXTS_PER_CALL = 128
const VALUES_PER_QUERY = 1000

/** Vectors of planned passages, float16 [planned.length, dimension]. */
interface Vectors {
  readonly planned: readonly PlannedRow[]
  readonly halves: Uint16Array
  readonly dimension: number
}

/**
 * Reads a shard, determines which of its rows to write, and embeds those without a vector (unless vectors are given).
 * @param tables where the rows may exist already, and a table of the same model from which vectors of equal passages are copied
 * @returns `ids`: of all its passages; `rows`: those to write, none if all of them are in the table; `doubled`: ids with several rows in the
 * table; `ends`: split documents and files that end in the shard
 */
export async function prepareShard(run: JobRun, number: number, tables: Readonly<Record<'present' | 'previous', Table | undefined>>) {
  const { present, previous } = tables
  const { folder, plan, byContent = false, readyVectors, signal, journal, progress } = run
  const { dimension } = run.model
  signal.throwIfAborted()
  const shard = await readShard(folder, number, plan)
  const ready = await readyVectors?.(number, shard)
  const ids = shard.map(({ passage }) => passage.id)
  const { hashes: known, doubled } = present === undefined ? NOTHING : await storedRows(present, ids)
  const open = [...shard.keys()].filter((row) => known.get(at(ids, row)) !== at(shard, row).hash)
  const planned = open.map((row) => at(shard, row))
  const halves = ready === undefined ? new Uint16Array(planned.length * dimension) : pickHalves(ready, open, dimension)
  const vectors = { planned, halves, dimension }
  const onEmbedded = (count: number): void => {
    run.embedding += count
    report(run, 'indexing')
  }
  let missing = [...planned.keys()]
  if (ready !== undefined) onEmbedded(missing.length)
  else {
    if (previous !== undefined) missing = await copyVectors(previous, missing, 'id', vectors)
    // From renamed files, or moved within one. Reads a column of the table.
    if (previous !== undefined && byContent) missing = await copyVectors(previous, missing, 'content', vectors)
    await embedRows(missing, vectors, { ...run, onEmbedded })
  }
  const [embedded, skipped] = [missing.length, shard.length - missing.length]
  const rows = { passages: planned.map(({ passage }) => passage), hashes: planned.map(({ hash }) => hash), halves }
  // Otherwise it was committed before a kill but not recorded.
  if (planned.length > 0 || !progress.shards.has(number)) await journal.add({ step: 'embedded', shard: number, embedded, skipped })
  run.embedding = 0
  return { number, ids, rows, doubled: [...doubled], ends: shard.flatMap(endsOf) }
}
export type PreparedShard = Awaited<ReturnType<typeof prepareShard>>

const NOTHING = { hashes: new Map<string, string>(), doubled: [] }

/** What is complete with a row. */
function endsOf({ passage: { id }, parts, whole }: PlannedRow): DocumentEnd[] {
  const document = parts === undefined ? [] : [{ document: id.slice(0, id.lastIndexOf('#')), parts }]
  return whole === undefined ? document : [...document, whole]
}

/**
 * Copies the vectors of passages with the same title and text.
 * @param by `id`: from the passage of the same id only; `content`: from any passage
 * @returns the rows that have none
 */
async function copyVectors(
  previous: Table,
  rows: readonly number[],
  by: 'id' | 'content',
  { planned, halves, dimension }: Vectors,
): Promise<number[]> {
  const valueOf = (id: string, hash: string): string => (by === 'id' ? id : contentPart(hash))
  const open = new Map<string, number[]>()
  for (const row of rows) {
    const { passage, hash } = at(planned, row)
    const value = valueOf(passage.id, hash)
    open.set(value, [...(open.get(value) ?? []), row])
  }
  for (const values of chunks([...open.keys()], VALUES_PER_QUERY)) {
    const condition = sqlIn(by === 'id' ? 'id' : CONTENT_OF_HASH, values)
    const found = await previous.query().where(condition).select(['id', 'hash', 'vector']).toArrow()
    const [idAt, hashAt, halvesAt] = [stringsOf(found, 'id'), stringsOf(found, 'hash'), halvesOf(found)]
    for (let row = 0; row < found.numRows; row++) {
      const hash = hashAt(row)
      const value = valueOf(idAt(row), hash)
      const same = (open.get(value) ?? []).filter((to) => contentPart(at(planned, to).hash) === contentPart(hash))
      for (const to of same) halves.set(halvesAt(row), to * dimension)
      if (same.length > 0) open.delete(value)
    }
  }
  return [...open.values()].flat()
}

/** Embeds passages into their rows, in groups of similar length. @throws index_invalid for a vector that cannot be stored */
export async function embedRows(
  rows: readonly number[],
  { planned, halves, dimension }: Vectors,
  { embed, signal, onEmbedded }: Pick<JobRun, 'embed' | 'signal'> & { readonly onEmbedded?: (count: number) => void },
): Promise<void> {
  const byLength = rows.map((row) => ({ row, text: passageText(at(planned, row).passage) })).sort((a, b) => b.text.length - a.text.length)
  const turn = eventLoopTurn()
  for (const some of chunks(byLength, TEXTS_PER_CALL)) {
    if (turn.isOver()) await turn.next()
    signal.throwIfAborted()
    const texts = some.map(({ text }) => text)
    const vectors = await embed(texts, signal)
    checkVectorCount(vectors.length, some.length)
    for (const [i, vector] of vectors.entries()) {
      const { row } = at(some, i)
      packVector({ id: at(planned, row).passage.id, vector }, halves, row, dimension)
    }
    onEmbedded?.(some.length)
  }
}

/** Maps values with a prefetch of one: the next is computed while the last one is used. */
export async function* prefetchOne<T, R>(values: Iterable<T>, work: (value: T) => Promise<R>): AsyncGenerator<R> {
  const iterator = values[Symbol.iterator]()
  const next = (): Promise<R> | undefined => {
    const step = iterator.next()
    const running = step.done === true ? undefined : work(step.value)
    // Its error is thrown where it is awaited.
    running?.catch(() => undefined)
    return running
  }
  let running = next()
  try {
    while (running !== undefined) {
      const result = await running
      running = next()
      yield result
    }
  } finally {
    // The caller may release what the work uses.
    await running?.catch(() => undefined)
  }
}

/**
 * Prepares shards, one ahead of the consumer, which commits them. After the first and then after every 64 of them it calls `compact`.
 * @param compact is given the minimum of excess fragments
 */
export async function* shardsOf<Shard>(
  { signal }: JobRun,
  remaining: readonly number[],
  prepareOne: (number: number) => Promise<Shard>,
  compact: (least: number) => Promise<unknown>,
): AsyncGenerator<Shard> {
  let commits = COMPACT_AFTER - 1
  for await (const shard of prefetchOne(remaining, prepareOne)) {
    yield shard
    if (++commits >= COMPACT_AFTER) {
      commits = 0
      await compact(COMPACT_AFTER)
    }
    signal.throwIfAborted()
  }
}
