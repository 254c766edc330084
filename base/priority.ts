import { getPriority, setPriority } from 'node:os'

const NICER_BY = 5
const LEAST_PRIORITY = 19

/**
 * Lowers the scheduling priority of this process below the service's ("nice" values). Inference can use every core; the service's thread
 * needs little time but low latency: probes and rejections wait for it.
 */
export function lowerPriority(): void {
  setPriority(Math.min(LEAST_PRIORITY, getPriority() + NICER_BY))
}
