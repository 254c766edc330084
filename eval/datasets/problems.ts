import type { Problem } from './question-set.ts'

/** Locations kept per kind of problem. */
const SHOWN_PLACES = 5

/** Collects problems by kind, with counts and the first locations. */
export class ProblemLog {
  readonly #kinds = new Map<string, { count: number; places: string[]; effect: Problem['effect'] }>()

  add(kind: string, at: string, effect: Problem['effect'] = 'skipped'): void {
    const entry = this.#kinds.get(kind) ?? { count: 0, places: [], effect }
    entry.count++
    if (entry.places.length < SHOWN_PLACES) entry.places.push(at)
    this.#kinds.set(kind, entry)
  }

  list(): Problem[] {
    return [...this.#kinds].map(([kind, { count, places, effect }]) => ({ kind, count, places, effect }))
  }
}

/** `3 x no answer (line 4, line 9, line 11), skipped`. */
export function describeProblem({ kind, count, places, effect }: Problem): string {
  const where = places.length === 0 ? '' : ` (${places.join(', ')}${count > places.length ? ', ...' : ''})`
  return `${count} x ${kind}${where}, ${effect}`
}
