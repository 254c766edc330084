import { tmpdir } from 'node:os'
import path from 'node:path'
import { Command } from 'commander'
import type { Named } from '../../index/vectors/given.ts'
import { loadConfig } from './load-config.ts'
import { interruptible } from './interrupted.ts'
import { decimal, wholeNumber } from './numbers.ts'
import { createProgress } from './progress.ts'

const SAMPLE = 64
/** Half precision and other kernels leave more than 0.999; a model's int8 build some 0.99. */
const MIN_COSINE = 0.98

interface VectorsOptions {
  readonly madeBy: string
  readonly sameModel?: boolean
  readonly sample: number
  readonly minCosine: number
  readonly work: string
}

/** `cepe index vectors`: vectors that were made elsewhere, as those of a planned corpus. */
export function vectorsCommand(): Command {
  return new Command('vectors')
    .description('import vectors made elsewhere into a planned corpus, matched by id; resumes when run again')
    .argument('<folder>', 'folder that `cepe index plan` made')
    .argument(
      '<files...>',
      "or folders: Contriever's pickles (passages_00 ...), .npy with .ids.txt, JSON lines or Parquet with id and vector",
    )
    .requiredOption('--made-by <model>', 'model that made the vectors')
    .option('--same-model', 'declare that the vectors are of the retriever of the plan, whatever its name there')
    .option('--sample <number>', 'passages that are embedded and compared, at least one a shard', wholeNumber({ min: 1 }), SAMPLE)
    .option('--min-cosine <number>', 'least cosine of a given vector and the one that the retriever makes', decimal({ max: 1 }), MIN_COSINE)
    .option('--work <folder>', 'for JSON lines and Parquet: takes 2 bytes a number while the command runs', tmpdir())
    .action(async (folder: string, given: string[], { work, sameModel = false, ...options }: VectorsOptions) => {
      const config = await loadConfig()
      const [{ openShardDir }, { giveVectors }, { vectorFiles }, { createEmbedding }, { ensureRetriever }] = await Promise.all([
        import('../../index/ingest/shard-dir/shard-dir.ts'),
        import('../../index/vectors/give.ts'),
        import('../../index/vectors/open.ts'),
        import('../service/services.ts'),
        import('../service/setup.ts'),
      ])
      const shardDir = await openShardDir(path.resolve(folder))
      const files = await vectorFiles(given.map((file) => path.resolve(file)))
      await ensureRetriever(config, createProgress)
      const embedding = await createEmbedding(config)
      const bars = { reading: createProgress('Reading ids', 'ids'), writing: createProgress('Comparing and writing', 'shards') }
      try {
        const { written, present, missing, foreign, compared, leastCosine } = await interruptible(
          (signal) =>
            giveVectors(shardDir, {
              ...options,
              ...embedding,
              files,
              sameModel,
              work: path.resolve(work),
              signal,
              onProgress: (phase, done, total) => bars[phase].update(done, total),
            }),
          () => 'Interrupted: written shards are kept; run the command again to resume.',
        )
        const least = compared === 0 ? '' : `, least cosine ${leastCosine.toFixed(4)}`
        process.stdout.write(
          `${shardDir.folder}: vectors of ${written} shards written, ${present} had theirs; ${compared} passages compared${least}\n`,
        )
        if (foreign.count > 0)
          process.stderr.write(`${foreign.count} vectors are of passages that the plan does not have (${named(foreign)}): left out.\n`)
        if (missing.count === 0) return
        process.exitCode = 1
        process.stderr.write(
          `${missing.count} passages have no vector (${named(missing)}): ${missing.shards} shards are left out. Give the files that hold them, all of one shard at once, or \`cepe index pending ${shardDir.folder} | cepe embed-worker ${shardDir.folder}\`.\n`,
        )
      } finally {
        bars.reading.stop()
        bars.writing.stop()
        await embedding.close()
      }
    })
}

function named({ count, examples }: Named): string {
  return examples.map((id) => `"${id}"`).join(', ') + (count > examples.length ? ', ...' : '')
}
