import { open, readFile, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Type, type Static } from 'typebox'
import { Value } from 'typebox/value'
import { syncPath } from '../../base/durable.ts'
import { osCode } from '../../base/errors.ts'
import { parseJson } from '../../base/json.ts'

/**
 * What a job has done, one JSON line per step, each on the disk before the shard's next step begins:
 * - `target`: where rows go: into a table of the job's own that replaces the live one at the end, or into the live one.
 * - `embedded`: all vectors of the shard are there and sound. The commit may follow at once, so a shard whose last entry
 *   this is may be in the table already: whoever resumes has to look. The shards of the plan follow each other: while one is forced
 *   onto the disk the next is written, and the one after that made ready, so that three shards at most are in this state.
 * - `committed`: the shard's rows are in the table and on the disk.
 * - `verified`: they were read back: ids, contents and vectors.
 * - `carrying`: the job's table is whole, verified and on the disk; what was changed in the live one meanwhile is being taken over.
 * - `live`: the alias points at the new table.
 */
const EntrySchema = Type.Union([
  Type.Object({ step: Type.Literal('target'), replace: Type.Boolean(), stored_as: Type.String() }),
  Type.Object({ step: Type.Literal('embedded'), shard: Type.Integer(), embedded: Type.Integer(), skipped: Type.Integer() }),
  Type.Object({ step: Type.Literal('committed'), shard: Type.Integer() }),
  Type.Object({ step: Type.Literal('verified'), shard: Type.Integer() }),
  Type.Object({ step: Type.Literal('carrying') }),
  Type.Object({ step: Type.Literal('live') }),
])
export type Entry = Static<typeof EntrySchema>

export interface ShardState {
  readonly state: 'embedded' | 'committed' | 'verified'
  readonly embedded: number
  readonly skipped: number
}

export interface Target {
  /** True if the rows go into a table of the job's own. */
  readonly replace: boolean
  readonly storedAs: string
}

/** Where a job stands, from its journal. */
export interface Progress {
  readonly target: Target | undefined
  readonly shards: ReadonlyMap<number, ShardState>
  /** True once the job's table holds more than what was planned. */
  readonly carrying: boolean
}

/** Replays a journal. A later `target` starts over. A torn last line, from a kill in the middle of a write, is no entry. */
export async function readJournal(path: string): Promise<Progress> {
  let target: Target | undefined
  let carrying = false
  const shards = new Map<number, ShardState>()
  for (const entry of await readEntries(path)) {
    if (entry.step === 'target') {
      target = { replace: entry.replace, storedAs: entry.stored_as }
      shards.clear()
      carrying = false
    } else if (entry.step === 'embedded') {
      shards.set(entry.shard, { state: 'embedded', embedded: entry.embedded, skipped: entry.skipped })
    } else if (entry.step === 'carrying') {
      carrying = true
    } else if (entry.step !== 'live') {
      const known = shards.get(entry.shard)
      if (known !== undefined) shards.set(entry.shard, { ...known, state: entry.step })
    }
  }
  return { target, shards, carrying }
}

async function readEntries(path: string): Promise<Entry[]> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (osCode(error) === 'ENOENT') return []
    throw error
  }
  return text.split('\n').flatMap((line) => {
    const value = parseJson(line)
    return Value.Check(EntrySchema, value) ? [value] : []
  })
}

/** Appends to a journal; an entry is on the disk when `add` returns. */
export class JournalWriter {
  readonly #file: FileHandle
  #last: Promise<void> = Promise.resolve()

  private constructor(file: FileHandle) {
    this.#file = file
  }

  static async open(path: string): Promise<JournalWriter> {
    const file = await open(path, 'a')
    await syncPath(dirname(path))
    return new JournalWriter(file)
  }

  /** Each entry begins with a newline, so that one after a torn line stands on its own. Entries stand in the order of the calls. */
  add(...entries: readonly Entry[]): Promise<void> {
    const adding = async (): Promise<void> => {
      await this.#file.appendFile(entries.map((entry) => `\n${JSON.stringify(entry)}`).join(''))
      await this.#file.datasync()
    }
    const added = this.#last.then(adding)
    // One that fails is its caller's concern.
    this.#last = added.catch(() => undefined)
    return added
  }

  async close(): Promise<void> {
    await this.#file.close()
  }
}
