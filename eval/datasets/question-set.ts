import { type Static, Type } from 'typebox'

/** A passage that came with a question, best first. */
export interface EvalPassage {
  readonly id: string
  readonly title: string
  readonly text: string
  readonly score?: number
}

export interface EvalQuestion {
  /** The dataset's own id, else the position in the file. */
  readonly id: string
  readonly question: string
  /** Gold answers, the one to show first; empty if `answerable` is false. */
  readonly answers: readonly string[]
  /** False for questions known to have no answer in the corpus. */
  readonly answerable: boolean
  /** Values by which scores are broken down (answer_type, popularity, relation, manner ...). */
  readonly groups: Readonly<Record<string, string>>
  readonly passages?: readonly EvalPassage[]
  /** Id of the passage that the question was written about. */
  readonly goldPassage?: string
  /** Title of the article that the question is about. */
  readonly goldTitle?: string
}

/** A problem of the data that affects the scores: a question was skipped, or kept with a change. */
export const ProblemSchema = Type.Object({
  kind: Type.String(),
  count: Type.Integer(),
  places: Type.Array(Type.String(), { description: 'The first few: lines or elements of the file, or ids of questions.' }),
  effect: Type.Enum(['skipped', 'kept']),
})
export type Problem = Static<typeof ProblemSchema>

/** A file as a run's manifest names it, and its problems. */
export interface ReadFile {
  readonly file: string
  readonly sha256: string
  readonly problems?: readonly Problem[]
}

export interface Dataset extends Required<ReadFile> {
  readonly questions: readonly EvalQuestion[]
}

/** One raw element of a file; `value` is undefined if it could not be parsed. */
export interface RawRecord {
  /** Location for messages: `line 12`, `element 3`. */
  readonly at: string
  readonly value: unknown
}

/** Locations kept per kind of problem. */
const SHOWN_PLACES = 5

/** Collects problems by kind, with counts and the first locations. */
export class ProblemLog {
  readonly #kinds = new Map<string, Problem>()

  add(kind: string, at: string, effect: Problem['effect'] = 'skipped'): void {
    const entry = this.#kinds.get(kind) ?? { kind, count: 0, places: [], effect }
    entry.count++
    if (entry.places.length < SHOWN_PLACES) entry.places.push(at)
    this.#kinds.set(kind, entry)
  }

  list(): Problem[] {
    return [...this.#kinds.values()]
  }
}

/** `3 x no answer (line 4, line 9, line 11), skipped`. */
export function describeProblem({ kind, count, places, effect }: Problem): string {
  const where = places.length === 0 ? '' : ` (${places.join(', ')}${count > places.length ? ', ...' : ''})`
  return `${count} x ${kind}${where}, ${effect}`
}

/** `count` of the values, or all, evenly spaced from the first. */
export function spread<T>(values: readonly T[], most: number): T[] {
  const kept = Math.min(most, values.length)
  return values.filter((_, i) => Math.floor((i * kept) / values.length) !== Math.floor(((i - 1) * kept) / values.length))
}
