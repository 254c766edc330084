import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

/** A model of fewer weights keeps a few cores busy at most: its products are over before more threads have begun. */
const SMALL_MODEL = 100_000_000
const THREADS_OF_SMALL = 2
/** Each reader keeps a cache of states and memory for RePlug of its own. */
const MOST_READERS = 4

export interface Allotment {
  /** Reader processes. */
  readonly readers: number
  /** Threads of each. */
  readonly threads: number
}

/**
 * How a machine's cores are shared out to readers. What is set is taken; a setting that is missing follows from the other.
 * Where neither is set: a small model gets a reader for every two cores, up to four, a larger one all cores for one reader.
 * @param parameters weights of the model
 */
export function allotCores({
  cores,
  parameters,
  readers,
  threads,
}: {
  readonly cores: number
  readonly parameters: number
  readonly readers?: number | undefined
  readonly threads?: number | undefined
}): Allotment {
  const own = parameters < SMALL_MODEL && threads === undefined ? Math.min(MOST_READERS, Math.floor(cores / THREADS_OF_SMALL)) : 1
  const processes = readers ?? Math.max(1, own)
  return { readers: processes, threads: threads ?? Math.max(1, Math.floor(cores / processes)) }
}

/** Cores that this process may use: those of its affinity, within the quota of its container (Linux, cgroup 2). */
export function usableCores(quota: string = cgroupQuota()): number {
  const [used, period] = quota.trim().split(' ').map(Number)
  const allowed = used !== undefined && period !== undefined && used > 0 && period > 0 ? Math.ceil(used / period) : Infinity
  return Math.max(1, Math.min(availableParallelism(), allowed))
}

function cgroupQuota(): string {
  try {
    return readFileSync('/sys/fs/cgroup/cpu.max', 'utf8')
  } catch {
    return 'max'
  }
}
