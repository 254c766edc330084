import path from 'node:path'
import { once } from 'node:events'
import { Command } from 'commander'
import { loadConfig } from './load-config.ts'
import { createProgress } from './progress.ts'

/** `cepe embed-worker`: an engine's hands. It reads work on standard input and answers on standard output, a JSON object a line. */
export function embedWorkerCommand(): Command {
  return new Command('embed-worker')
    .description('embed shards of a planned corpus: {"shard": <number>} a line on standard input, an answer a line on standard output')
    .argument('<folder>', 'folder that `cepe index plan` made')
    .action(async (folder: string) => {
      const config = await loadConfig()
      const [{ checkShardDirModel, openShardDir }, { answerWork }, { createEmbedding }, { ensureRetriever }] = await Promise.all([
        import('../../index/ingest/shard-dir/shard-dir.ts'),
        import('../jobs/embed-work.ts'),
        import('../service/services.ts'),
        import('../service/setup.ts'),
      ])
      const shardDir = await openShardDir(path.resolve(folder))
      await ensureRetriever(config, createProgress)
      const embedding = await createEmbedding(config)
      try {
        checkShardDirModel(shardDir, embedding.model)
        await answer({ state: 'ready', model: shardDir.model, shards: shardDir.plan.shard_rows.length, passages: shardDir.plan.accepted })
        const input = process.stdin as AsyncIterable<Buffer>
        for await (const done of answerWork(input, shardDir, embedding.embed, new AbortController().signal)) {
          if (done.state === 'failed') process.exitCode = 1
          await answer(done)
        }
      } finally {
        await embedding.close()
      }
    })
}

/** Waits where nobody takes the answers. */
async function answer(line: object): Promise<void> {
  if (!process.stdout.write(`${JSON.stringify(line)}\n`)) await once(process.stdout, 'drain')
}
