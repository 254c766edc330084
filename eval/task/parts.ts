/** How scores of one metric become one number. */
export interface Metric {
  /** Key of a result's scores. */
  readonly name: string
  readonly label: string
  /** percent: mean, times 100. perplexity: exp of the mean of losses. */
  readonly aggregate: 'percent' | 'mean' | 'perplexity'
  readonly digits: number
}

/** An option of a task's command, as Commander takes it. */
export interface TaskOption {
  /** Such as `--contexts <numbers>`. */
  readonly flags: string
  readonly description: string
  readonly byDefault?: string
  /** Value with `--small`, where it differs. */
  readonly small?: string
}
