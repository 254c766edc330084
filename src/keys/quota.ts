import path from 'node:path'
import { Type } from 'typebox'
import Value from 'typebox/value'
import { writeFileDurably } from '../../base/durable.ts'
import { CodedError, messageOf, reasonOf } from '../../base/errors.ts'
import { orAbsent, readRegular } from '../../base/exists.ts'
import { parseSealed, sealed } from '../../base/json.ts'
import { takeLock } from '../../base/locks/lock.ts'
import type { Admission } from '../inference/contract.ts'
import type { Log } from '../inference/log.ts'
import type { Keys } from './keys.ts'
import { keyOfClient, keysFailed } from './record.ts'

const DAY_MS = 86_400_000
/** Longest period of counts that a killed service may lose. */
const SAVE_EVERY_MS = 5_000
const LOCK_WAIT_MS = 5_000
/** Latest days whose counts are kept: a clock that is set forward and back must find those of its day. */
const KEPT_DAYS = 4
const UsageSchema = Type.Record(Type.String(), Type.Integer({ minimum: 0 }))

/** Questions by day (UTC) and name of the key, `2026-11-22 ann`. */
type Usage = ReadonlyMap<string, number>

interface QuotaOptions {
  readonly dir: string
  readonly keys: Pick<Keys, 'named'>
  readonly now?: () => number
  readonly log?: Log | undefined
}

export type Quotas = Awaited<ReturnType<typeof createQuotas>>

/** Counts the questions of every key by day, across restarts. */
export async function createQuotas({ dir, keys, now = Date.now, log }: QuotaOptions) {
  let saved = await readUsage(dir, (problem) => log?.('error', problem))
  let unsaved = new Map<string, number>()
  let complained = false
  const used = (counter: string): number => (saved.get(counter) ?? 0) + (unsaved.get(counter) ?? 0)

  const check = (client: string | undefined): string | undefined => {
    const name = client === undefined ? undefined : keyOfClient(client)
    const holder = name === undefined ? undefined : keys.named(name)
    // The key of a setting has neither file nor limits.
    if (name === undefined || holder === undefined) return undefined
    const most = holder.questions_per_day
    const counter = counterOf(name, now())
    if (most !== undefined && used(counter) >= most) throw usedUp(name, most, now())
    return counter
  }

  const write = async (): Promise<void> => {
    // Without unsaved counts, only reads those of other services, without the lock.
    const lock = unsaved.size > 0 ? await takeLock(path.join(dir, 'usage.turns'), LOCK_WAIT_MS) : undefined
    try {
      // The counts in the file are lower than those known to be saved only after damage.
      const counts = mostOf(saved, await readUsage(dir))
      const added = new Map(lock === undefined ? [] : unsaved)
      for (const [counter, count] of added) counts.set(counter, (counts.get(counter) ?? 0) + count)
      const kept = recent(counts, dayOf(now()))
      if (lock !== undefined)
        await writeFileDurably(usageFile(dir), `${JSON.stringify(sealed(Object.fromEntries(kept)))}\n`, { mode: 0o600 })
      saved = kept
      // Questions that arrived during the write.
      const later = [...unsaved].map(([counter, count]) => [counter, count - (added.get(counter) ?? 0)] as const)
      unsaved = new Map(later.filter(([, count]) => count > 0))
    } finally {
      await lock?.release()
    }
  }

  const save = async (): Promise<void> => {
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
    /** Questions admitted today with the key of a name. */
    used: (name: string): number => used(counterOf(name, now())),
    /** An admission within a key's quota; each admitted question counts, whatever its result. */
    around: (admission: Admission): Admission => ({
      enter: (question) => {
        const counter = check(question.client)
        const permit = admission.enter(question)
        if (counter !== undefined) unsaved.set(counter, (unsaved.get(counter) ?? 0) + 1)
        return permit
      },
    }),
    /** Adds unsaved counts to the day's file, which services on one folder share. */
    save: saveInTurn,
    close: (): Promise<void> => {
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

function recent(all: Usage, today: string): Usage {
  const days = [...new Set([...all.keys()].map(dayOfCounter))].sort().slice(-KEPT_DAYS)
  return new Map([...all].filter(([counter]) => [...days, today].includes(dayOfCounter(counter))))
}

/** The larger of each count: within a day counts only grow. */
function mostOf(one: Usage, other: Usage): Map<string, number> {
  const most = new Map(one)
  for (const [name, count] of other) most.set(name, Math.max(count, most.get(name) ?? 0))
  return most
}

/** Questions of a day by the names of keys. @param onDamaged see `readUsage` @throws config_invalid if the counts cannot be read */
export async function usageOfDay(dir: string, day = dayOf(Date.now()), onDamaged?: (problem: string) => void): Promise<Usage> {
  const counts = [...(await readUsage(dir, onDamaged))].filter(([counter]) => dayOfCounter(counter) === day)
  return new Map(counts.map(([counter, count]) => [counter.slice(day.length + 1), count]))
}

/** Saved counts. @param onDamaged called for a damaged file, which has none @throws config_invalid if it cannot be read */
async function readUsage(dir: string, onDamaged?: (problem: string) => void): Promise<Usage> {
  const text = await orAbsent(readRegular(usageFile(dir))).catch((error: unknown) => {
    throw keysFailed(`The count of questions, ${usageFile(dir)}, cannot be read: ${reasonOf(error)}.`, error)
  })
  const usage = parseSealed(String(text ?? ''))
  if (Value.Check(UsageSchema, usage)) return new Map(Object.entries(usage))
  if (text !== undefined) onDamaged?.(`The count of questions, ${usageFile(dir)}, is damaged: today's counts start at 0.`)
  return new Map()
}

function usageFile(dir: string): string {
  return path.join(dir, 'usage.json')
}

/** The day of a time, `YYYY-MM-DD` in UTC. */
function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10)
}

function counterOf(name: string, time: number): string {
  return `${dayOf(time)} ${name}`
}

function dayOfCounter(counter: string): string {
  return counter.split(' ', 1).join()
}
