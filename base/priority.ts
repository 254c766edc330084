import { getPriority, setPriority } from 'node:os'

const NICER_BY = 5
const LEAST_PRIORITY = 19

/**
 * Puts this process further down the operating system's list than the service that started it ("nice" values). What
 * computes would have every core at once; the service's thread needs little, but soon: probes and refusals wait for it.
 */
export function giveWay(): void {
  setPriority(Math.min(LEAST_PRIORITY, getPriority() + NICER_BY))
}
