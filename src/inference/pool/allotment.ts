import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { attempt } from '../../../base/errors.ts'

/** Below this size, matrix products finish before further threads start: readers do best with one core each. */
const SMALL_MODEL = 100_000_000
/** Each reader has its own state cache and RePlug memory. */
const MOST_READERS = 4

type Allotment = Readonly<Record<'cores' | 'parameters', number> & Partial<Record<'readers' | 'threads', number | undefined>>>

/**
 * Distributes a machine's cores over readers. Configured values are used; a missing one follows from the other. By default a small model
 * gets one reader per core, up to four, and spare cores become threads; a larger one gets one reader with all cores.
 * @param parameters number of weights
 * @returns the number of reader processes, and the threads of each
 */
export function allotCores({ cores, parameters, readers, threads }: Allotment) {
  const processes = readers ?? (parameters < SMALL_MODEL && threads === undefined ? Math.min(MOST_READERS, cores) : 1)
  return { readers: processes, threads: threads ?? Math.max(1, Math.floor(cores / processes)) }
}

/** Cores available to this process: its affinity, limited by its container's quota (Linux, cgroup 2). */
export function usableCores(quota = attempt(() => readFileSync('/sys/fs/cgroup/cpu.max', 'utf8'), 'max')): number {
  const [used, period] = quota.trim().split(' ').map(Number)
  const allowed = used !== undefined && period !== undefined && used > 0 && period > 0 ? Math.ceil(used / period) : Infinity
  return Math.max(1, Math.min(availableParallelism(), allowed))
}
