import path from 'node:path'
import type { PoolOptions } from '../contract.ts'
import type { Pool } from '../pool.ts'
import type { CommonChildOptions, Provider } from '../../protocol.ts'

const DEFAULT_THREADS = 1
/** Folder inside a built model's folder for graphs saved with prepacked weights. */
const PREPACK_FOLDER = '.prepacked'

/** Settings of the processes, shared by readers and embedders. */
export interface ProcessOptions extends Omit<PoolOptions, 'options'> {
  /** Folder of the built model. */
  readonly modelDir: string
  /** Threads of each process. Default {@link DEFAULT_THREADS}. */
  readonly threads?: number
  /** Default: the CPU. */
  readonly provider?: Provider
  /**
   * Save the weights once in the layout of this CPU and share them between processes: loading takes half the time, and each process holds
   * at most a fifth of the weights of its own, for 1.8 times the weights on disk per graph. Default: with more than one process.
   */
  readonly prepack?: boolean
  /** Folder of the saved graphs. Default `.prepacked` in the model's folder. */
  readonly prepackDir?: string
}

/** A supervised model in processes of its own. */
export type Supervised = Pick<Pool, 'status' | 'close'>

/** Options of a child of any role, with absolute paths and defaults. */
export function commonChildOptions(options: ProcessOptions): CommonChildOptions {
  return {
    modelDir: path.resolve(options.modelDir),
    threads: options.threads ?? DEFAULT_THREADS,
    provider: options.provider ?? { name: 'cpu' },
    prepackDir:
      (options.prepack ?? (options.children ?? 1) > 1)
        ? path.resolve(options.prepackDir ?? path.join(options.modelDir, PREPACK_FOLDER))
        : null,
  }
}
