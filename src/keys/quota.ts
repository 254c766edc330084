import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { Type } from '#typebox'
import Value from '#typebox/value'
import { writeFileDurably } from '../../base/durable.ts'
import { CodedError, messageOf, osCode } from '../../base/errors.ts'
import { parseJson } from '../../base/json.ts'
import { takeLock } from '../../base/locks/lock.ts'
import type { Admission } from '../inference/contract.ts'
import type { Log } from '../inference/log.ts'
import type { Keys } from './keys.ts'
import { keyOfClient } from './record.ts'

const DAY_MS = 86_400_000
/** Longest period of counts that a killed service may lose. */
const SAVE_EVERY_MS = 5_000
const LOCK_WAIT_MS = 5_000
const UsageSchema = Type.Object({ day: Type.String(), questions: Type.Record(Type.String(), Type.Integer({ minimum: 0 })) })

/** Questions of a day (UTC) by the names of keys. */
export type Usage = ReadonlyMap<string, number>

export interface Quotas {
  /** An admission within a key's quota; each admitted question counts, whatever its result. */
  around(admission: Admission): Admission
  /** Adds unsaved counts to the day's file, which services on one folder share. */
  save(): Promise<void>
  close(): Promise<void>
}

export interface QuotaOptions {
  readonly dir: string
  readonly keys: Pick<Keys, 'named'>
  readonly now?: () => number
  readonly log?: Log | undefined
}

/** Counts the questions of every key by day, across restarts. */
export async function createQuotas({ dir, keys, now = Date.now, log }: QuotaOptions): Promise<Quotas> {
  let day = dayOf(now())
  let saved = await readUsage(dir, day)
  let unsaved = new Map<string, number>()
  let complained = false
  const used = (name: string): number => (saved.get(name) ?? 0) + (unsaved.get(name) ?? 0)

  const beginDay = (): void => {
    const today = dayOf(now())
    if (today === day) return
    day = today
    saved = new Map()
    unsaved = new Map()
  }

  const check = (client: string | undefined): string | undefined => {
    beginDay()
    const name = client === undefined ? undefined : keyOfClient(client)
    const holder = name === undefined ? undefined : keys.named(name)
    // The key of a setting has neither file nor limits.
    if (name === undefined || holder === undefined) return undefined
    const most = holder.questions_per_day
    if (most !== undefined && used(name) >= most) throw usedUp(name, most, now())
    return name
  }

  const write = async (): Promise<void> => {
    const take = (): DayUsage => ({ day, known: saved, added: new Map(unsaved) })
    const anyNew = [...unsaved.values()].some((count) => count > 0)
    // Without unsaved counts, only reads those of other services, without the lock.
    const written = anyNew ? await addUsage(dir, take) : { ...take(), counts: await readUsage(dir, day) }
    if (written?.day !== day) return
    saved = mostOf(saved, written.counts)
    // Questions that arrived meanwhile.
    for (const [name, count] of written.added) unsaved.set(name, (unsaved.get(name) ?? 0) - count)
  }

  const save = async (): Promise<void> => {
    beginDay()
    try {
      await write()
      complained = false
    } catch (error) {
      if (!complained) log?.('warn', `Quotas of keys are counted in memory only: ${messageOf(error)}`)
      complained = true
    }
  }
  let saving = Promise.resolve()
  const saveInTurn = (): Promise<void> => (saving = saving.then(save))
  const timer = setInterval(() => void saveInTurn(), SAVE_EVERY_MS).unref()

  return {
    around: (admission) => ({
      enter: (question) => {
        const name = check(question.client)
        const permit = admission.enter(question)
        if (name !== undefined) unsaved.set(name, (unsaved.get(name) ?? 0) + 1)
        return permit
      },
    }),
    save: saveInTurn,
    close: () => {
      clearInterval(timer)
      return saveInTurn()
    },
  }
}

function usedUp(name: string, most: number, time: number): CodedError {
  return new CodedError('rate_limited', `The key ${name} has asked the ${most} questions of today; its next day begins at 0:00 UTC.`, {
    retryAfterS: Math.ceil((DAY_MS - (time % DAY_MS)) / 1000),
  })
}

interface DayUsage {
  readonly day: string
  /** Counts known to be saved: higher than in the file only after damage. */
  readonly known: Usage
  readonly added: Usage
}

/**
 * Adds questions to the saved counts under a lock.
 * @param take returns the questions once the lock is held
 * @returns these, and the day's total; undefined without the lock
 */
async function addUsage(dir: string, take: () => DayUsage): Promise<(DayUsage & { readonly counts: Usage }) | undefined> {
  const lock = await takeLock(path.join(dir, 'usage.turns'), LOCK_WAIT_MS)
  if (lock === undefined) return undefined
  try {
    const { day, added, known } = take()
    const counts = mostOf(known, await readUsage(dir, day))
    for (const [name, count] of added) counts.set(name, (counts.get(name) ?? 0) + count)
    await writeFileDurably(usageFile(dir), `${JSON.stringify({ day, questions: Object.fromEntries(counts) })}\n`, { mode: 0o600 })
    return { day, known, added, counts }
  } finally {
    await lock.release()
  }
}

/** The larger count of each key: within a day counts only grow. */
function mostOf(one: Usage, other: Usage): Map<string, number> {
  const most = new Map(one)
  for (const [name, count] of other) most.set(name, Math.max(count, most.get(name) ?? 0))
  return most
}

/**
 * Saved counts of the day. A damaged file, or one of another day, counts as empty.
 * @throws config_invalid if it cannot be read
 */
export async function readUsage(dir: string, day = dayOf(Date.now())): Promise<Usage> {
  const text = await readFile(usageFile(dir), 'utf8').catch((error: unknown) => {
    if (osCode(error) === 'ENOENT') return ''
    throw new CodedError('config_invalid', `The count of questions, ${usageFile(dir)}, cannot be read: ${messageOf(error)}.`, {
      field: 'CEPE_KEYS_DIR',
      cause: error,
    })
  })
  const usage = parseJson(text)
  return new Map(Value.Check(UsageSchema, usage) && usage.day === day ? Object.entries(usage.questions) : [])
}

function usageFile(dir: string): string {
  return path.join(dir, 'usage.json')
}

/** The day of a time, `YYYY-MM-DD` in UTC. */
function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10)
}
