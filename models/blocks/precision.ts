import type { Dtype } from '../manifest.ts'

/** Types of a build: what each dtype of the manifest means for the graphs. */
export interface Precision {
  /** Activations, norms, embeddings and every matrix that is not quantised. */
  readonly float: 'f32' | 'f16'
}

export const precisionOf = (dtype: Dtype): Precision => ({ float: dtype === 'f32' || dtype === 'int4' ? 'f32' : 'f16' })
