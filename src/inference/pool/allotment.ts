import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

/** The products of a model of fewer weights are over before further threads have begun: its readers do best with one core each. */
const SMALL_MODEL = 100_000_000
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
 * Where neither is set: a small model gets a reader for every core, up to four, whose threads share out further cores; a larger one
 * all cores for one reader.
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
  const processes = readers ?? (parameters < SMALL_MODEL && threads === undefined ? Math.min(MOST_READERS, cores) : 1)
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
