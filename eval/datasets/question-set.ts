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
  /** Gold answers, the one to show first; empty where `answerable` is false. */
  readonly answers: readonly string[]
  /** False for questions whose answer is known not to be in the corpus. */
  readonly answerable: boolean
  /** Values by which scores are broken down (answer_type, popularity, relation, manner ...). */
  readonly groups: Readonly<Record<string, string>>
  readonly passages?: readonly EvalPassage[]
  /** Id of the passage that the question was written about. */
  readonly goldPassage?: string
  /** Title of the article that the question is about. */
  readonly goldTitle?: string
}

/** Something about the data that a reader of the scores must know. */
export interface Problem {
  readonly kind: string
  readonly count: number
  /** The first few places: lines or elements of the file, or question ids. */
  readonly places: readonly string[]
  /** What was done: the question was left out, or kept with a change. */
  readonly effect: 'skipped' | 'kept'
}

export interface Dataset {
  readonly questions: readonly EvalQuestion[]
  readonly problems: readonly Problem[]
  /** Name of the file. */
  readonly file: string
  readonly sha256: string
}

/** One element of a file before it is understood; `value` is undefined where it could not be parsed. */
export interface RawRecord {
  /** Where it stands, for people: `line 12`, `element 3`. */
  readonly at: string
  readonly value: unknown
}
