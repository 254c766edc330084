import type { Indexing } from '../../service/indexing.ts'
import { interruptibleAtOnce } from '../program/interrupted.ts'
import { loadConfig } from '../program/load-config.ts'
import { createProgress } from '../program/progress.ts'

/** Whether a command embeds passages, for which the retriever is built or verified, or only reads. */
export type Need = 'embeds' | 'looks'

/** Opens the index and its jobs, and closes them after the work. */
export async function withIndexing(table: string | undefined, need: Need, run: (indexing: Indexing) => Promise<unknown>): Promise<void> {
  const config = await loadConfig({ TABLE: table })
  const [{ openCommand }, { ensureRetriever }] = await Promise.all([import('../../service/indexing.ts'), import('../../service/setup.ts')])
  const indexing = await interruptibleAtOnce(async () => {
    if (need === 'embeds') await ensureRetriever(config, createProgress)
    return openCommand(config)
  }, 'Interrupted before anything was begun: run the command again.')
  try {
    await run(indexing)
  } finally {
    await indexing.close()
  }
}
