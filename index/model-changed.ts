import { CodedError } from '../base/errors.ts'
import type { EmbeddingModel } from './contract.ts'

/** The table was replaced by one of another model; nothing was read or written. Embed again and retry. */
export class ModelChangedError extends CodedError {
  constructor(table: string, embedded: EmbeddingModel, found: EmbeddingModel) {
    super(
      'conflict',
      `The vectors are of the model ${embedded.id}, the table "${table}" holds those of ${found.id}: embed with that model, and try again.`,
      { field: 'vector' },
    )
  }
}
