import path from 'node:path'
import { Command } from 'commander'
import { closing } from '../../base/files.ts'
import { loadConfig } from './program/run-program.ts'
import { createProgress } from './program/progress.ts'
import { print } from './program/shown.ts'

/** `cepe embed-worker`: a worker for schedulers. Reads work from standard input and writes results to standard output as JSON lines. */
export function embedWorkerCommand(): Command {
  return new Command('embed-worker')
    .description('embed shards of a planned corpus: reads {"shard": <number>} lines from standard input, writes one result line for each')
    .argument('<folder>', 'folder of `cepe index plan`')
    .action(async (folder: string) => {
      const config = await loadConfig()
      const { checkShardDirModel, openShardDir } = await import('../../index/ingest/shard-dir/shard-dir.ts')
      const { answerWork } = await import('../../index/ingest/shard-dir/embed-work.ts')
      const { openEmbedding } = await import('../service/models.ts')
      const { ensureRetriever } = await import('../service/setup.ts')
      const shardDir = await openShardDir(path.resolve(folder))
      await ensureRetriever(config, createProgress)
      await using embedding = closing(await openEmbedding(config))
      checkShardDirModel(shardDir, embedding.model)
      const { model, plan } = shardDir
      await answer({ state: 'ready', model, shards: plan.shard_rows.length, passages: plan.accepted })
      const input = process.stdin as AsyncIterable<Buffer>
      for await (const done of answerWork(input, shardDir, embedding.embed, new AbortController().signal)) {
        if (done.state === 'failed') process.exitCode = 1
        await answer(done)
      }
    })
}

function answer(line: object): Promise<unknown> {
  return print(`${JSON.stringify(line)}\n`)
}
