/** Rounds milliseconds to two decimals. */
export function roundedMs<Stages extends string>(timings: Readonly<Record<Stages, number>>): Record<Stages, number> {
  const told = Object.entries<number>(timings).map(([stage, ms]) => [stage, Math.round(ms * 100) / 100])
  return Object.fromEntries(told) as Record<Stages, number>
}
