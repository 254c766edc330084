import type { Checkpoint } from '../checkpoint/checkpoint.ts'
import { withAdapter } from './merge.ts'
import { openAdapter } from './open.ts'

/**
 * Returns the checkpoint with the adapters of these folders merged in order. Closes the checkpoint on an error.
 * @throws those of openAdapter and withAdapter
 */
export async function withAdapters(checkpoint: Checkpoint, folders: readonly string[]): Promise<Checkpoint> {
  let merged = checkpoint
  try {
    for (const folder of folders) {
      const adapter = await openAdapter(folder)
      try {
        merged = withAdapter(merged, adapter)
      } catch (thrown) {
        await adapter.close()
        throw thrown
      }
    }
    return merged
  } catch (thrown) {
    await merged.close()
    throw thrown
  }
}
