/** Codes of what can go wrong in an evaluation; they never change their meaning. */
export type EvalErrorCode =
  /** The question file (or passages, or training file) cannot be used. */
  | 'dataset_invalid'
  /** Options that contradict each other or the data. */
  | 'options_invalid'
  /** The run folder holds a run of other options, data, model or index. */
  | 'run_mismatch'
  /** The folder holds no readable run. */
  | 'run_invalid'
  /** The service stopped answering; the run can be resumed. */
  | 'service_unreachable'
  /** Every question was skipped. */
  | 'nothing_scored'

/** An error that is the user's to read: it names what is wrong, where, and what to do. */
export class EvalError extends Error {
  readonly code: EvalErrorCode

  constructor(code: EvalErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'EvalError'
    this.code = code
  }
}
