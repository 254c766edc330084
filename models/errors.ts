/** checkpoint_invalid: the input is broken; unsupported: it is sound but not handled; model_invalid: a built model is broken. */
export type ModelErrorCode = 'checkpoint_invalid' | 'unsupported' | 'model_invalid'

/** An error of the model builder that is the user's to read: it names the file or field, what is wrong there and the remedy. */
export class ModelError extends Error {
  readonly code: ModelErrorCode
  /** The offending file, tensor or config field. */
  readonly field?: string

  constructor(code: ModelErrorCode, message: string, field?: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ModelError'
    this.code = code
    if (field !== undefined) this.field = field
  }
}

/** The input breaks its own format. */
export const invalid = (message: string, field?: string): ModelError => new ModelError('checkpoint_invalid', message, field)

/** The input is well formed, but nothing here handles it. */
export const unsupported = (message: string, field?: string): ModelError => new ModelError('unsupported', message, field)
