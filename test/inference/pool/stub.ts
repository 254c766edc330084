import type { PoolOptions } from '../../../src/inference/pool/contract.ts'
import type { TaskCall } from '../../../src/inference/protocol.ts'
import { fileUrl } from '../../helpers/root.ts'

/** A pool of stub processes steered through `folder`. */
export function stubOptions(folder: string, options: Partial<PoolOptions> = {}): PoolOptions {
  return {
    childFile: fileUrl('test/inference/pool/stub-child.mjs'),
    options: { role: 'embedder', modelDir: folder, threads: 1, provider: { name: 'cpu' }, prepackDir: null, batchTokens: 1 },
    backoffMs: { first: 10, longest: 50 },
    ...options,
  }
}

/** A task that the stub runs: `echo x`, `hang`, `sleep <ms>`, `compute <ms>`, `until <file>`, `steps <file>`, `say <file>`, `load <ms>`, `exit <code>`, `fail <message>`. */
export function stubTask(command: string): TaskCall {
  return { task: 'embed', input: [command] }
}
