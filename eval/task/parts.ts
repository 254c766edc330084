/** How scores of a metric are aggregated. */
export interface Metric {
  /** Key of a result's scores. */
  readonly name: string
  readonly label: string
  /** percent: mean, times 100. perplexity: exp of the mean of losses. */
  readonly aggregate: 'percent' | 'mean' | 'perplexity'
  readonly digits: number
}

/** An option of a task's command, in Commander's form. */
export interface TaskOption {
  /** Such as `--contexts <numbers>`. */
  readonly flags: string
  readonly description: string
  readonly byDefault?: string
  /** Value with `--small`, if different. */
  readonly small?: string
}
