import { CodedError } from '../base/errors.ts'
import type { EmbeddingModel } from './contract.ts'

/** Vectors came for a table that has been replaced by one of another model: nothing was read or written with them. Embed again. */
export class ModelChangedError extends CodedError {
  constructor(table: string, embedded: EmbeddingModel, found: EmbeddingModel) {
    super(
      'conflict',
      `The vectors are of the model ${embedded.id}, the table "${table}" holds those of ${found.id}: embed with that model, and try again.`,
      { field: 'vector' },
    )
  }
}
