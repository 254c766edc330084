import type { ChildProcess } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'
import { attempt, CodedError } from './errors.ts'

/** Loading the program opens some 150 files; the index and connections need more. */
const LEAST = 256

/** Checks the limit of open files in /proc: with too few even the program's modules cannot be loaded. @throws config_invalid */
export function checkOpenFiles(): void {
  const most = mostOpenFiles()
  if (most >= LEAST) return
  const message = `This process may have ${most} files open; at least ${LEAST} are needed, and 4096 or more for a service. Raise the limit (ulimit -n, or LimitNOFILE of systemd).`
  throw new CodedError('config_invalid', message)
}

/** Most files that this process may have open, where Linux tells. */
export function mostOpenFiles(): number {
  const limits = attempt(() => readFileSync('/proc/self/limits', 'utf8'), '')
  const [, most = Infinity] = /^Max open files\s+(\d+)/m.exec(limits) ?? []
  return Number(most)
}

const NICER_BY = 5
const LEAST_PRIORITY = 19

/**
 * Lowers the priority of this process below the service's. Inference can use every core; the service's thread needs little time but low
 * latency: probes and rejections wait for it.
 */
export function lowerPriority(): void {
  setPriority(Math.min(LEAST_PRIORITY, getPriority() + NICER_BY))
}

/** Lets Linux end this child process, which is replaced, before the service where memory is short. */
export function endFirst({ pid }: Pick<ChildProcess, 'pid'>): void {
  attempt(() => writeFileSync(`/proc/${pid}/oom_score_adj`, '500'), undefined)
}
