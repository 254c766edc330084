import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Type, type Static } from 'typebox'
import pLimit from 'p-limit'
import { Value } from 'typebox/value'
import { syncPath } from '../../base/durable.ts'
import { orAbsent, readRegular } from '../../base/exists.ts'
import { inFolder } from '../../base/failures.ts'
import { parseJson } from '../../base/json.ts'

/**
 * What a job has done, one JSON line per step. Each is durable before the shard's next step begins:
 * - `target`: the table to write to, a new one that replaces the live one at the end, or the live one; and the job.
 * - `embedded`: all vectors of the shard are present and valid. Its commit may follow at once, so on resume a shard with this last entry is
 * looked up in the table. Shards are pipelined: while one is fsynced, the next is written and the one after that prepared. At most three
 * shards are in this state.
 * - `committed`: the shard's rows are durable in the table.
 * - `verified`: the rows were read back: ids, contents and vectors.
 * - `carrying`: the job's table is complete, verified and durable; changes made to the live table during the job are being copied.
 * - `live`: the alias points at the new table.
 */
const JournalEntrySchema = Type.Union([
  Type.Object({ step: Type.Literal('target'), replace: Type.Boolean(), stored_as: Type.String(), job: Type.Optional(Type.String()) }),
  Type.Object({ step: Type.Literal('embedded'), shard: Type.Integer(), embedded: Type.Integer(), skipped: Type.Integer() }),
  Type.Object({ step: Type.Enum(['committed', 'verified']), shard: Type.Integer() }),
  Type.Object({ step: Type.Literal('carrying') }),
  Type.Object({ step: Type.Literal('live') }),
])
type JournalEntry = Static<typeof JournalEntrySchema>

/** State of a job, as its journal has it. */
export class Progress {
  /** `isOwn`: true for a table of the job's own; false for the live one. `job`: not recorded by earlier software. */
  target: { readonly isOwn: boolean; readonly storedAs: string; readonly job?: string | undefined } | undefined
  readonly shards = new Map<number, { state: 'embedded' | 'committed' | 'verified'; embedded: number; skipped: number }>()
  /** True once the job's table holds more than the plan. */
  carrying = false

  /** A later `target` starts over. */
  add(entry: JournalEntry): void {
    if (entry.step === 'target') {
      this.target = { isOwn: entry.replace, storedAs: entry.stored_as, job: entry.job }
      this.shards.clear()
      this.carrying = false
    } else if (entry.step === 'embedded') {
      this.shards.set(entry.shard, { state: 'embedded', embedded: entry.embedded, skipped: entry.skipped })
    } else if (entry.step === 'carrying' || entry.step === 'live') {
      this.carrying = true
    } else {
      const known = this.shards.get(entry.shard)
      if (known !== undefined) this.shards.set(entry.shard, { ...known, state: entry.step })
    }
  }
}

/** Replays a journal. A torn last line, from a kill during a write, is ignored. */
export async function readJournal(path: string): Promise<Progress> {
  const progress = new Progress()
  for (const line of String((await orAbsent(readRegular(path))) ?? '').split('\n')) {
    const entry = parseJson(line)
    if (Value.Check(JournalEntrySchema, entry)) progress.add(entry)
  }
  return progress
}

export type JournalWriter = Awaited<ReturnType<typeof openJournal>>

/** Opens a journal to append to it. @param progress of the journal, which follows the entries */
export async function openJournal(path: string, progress: Progress) {
  const file = await open(path, 'a')
  await syncPath(dirname(path))
  const inTurn = pLimit(1)
  return {
    /** Appends entries in the order of calls; durable when it resolves. Each begins with a newline: it is valid after a torn line. */
    add: (...entries: readonly JournalEntry[]): Promise<void> =>
      inTurn(async () => {
        const lines = entries.map((entry) => `\n${JSON.stringify(entry)}`).join('')
        await file.appendFile(lines).catch(inFolder(dirname(path)))
        await file.datasync()
        for (const entry of entries) progress.add(entry)
      }),
    [Symbol.asyncDispose]: (): Promise<void> => file.close(),
  }
}
