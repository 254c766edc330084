/** A passage that came with a question, best first. */
export interface EvalPassage {
  readonly id: string
  readonly title: string
  readonly text: string
  readonly score?: number
}

/** One question of an evaluation. */
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

/** A problem of the data that affects the scores. */
export interface Problem {
  readonly kind: string
  readonly count: number
  /** The first few locations: lines or elements of the file, or question ids. */
  readonly places: readonly string[]
  /** Whether the question was skipped, or kept with a change. */
  readonly effect: 'skipped' | 'kept'
}

export interface Dataset {
  readonly questions: readonly EvalQuestion[]
  readonly problems: readonly Problem[]
  /** Name of the file. */
  readonly file: string
  readonly sha256: string
}

/** One raw element of a file; `value` is undefined if it could not be parsed. */
export interface RawRecord {
  /** Location for messages: `line 12`, `element 3`. */
  readonly at: string
  readonly value: unknown
}
