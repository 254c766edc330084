import { tmpdir } from 'node:os'
import path from 'node:path'
import { Command } from 'commander'
import type { Named } from '../../../index/vectors/given.ts'
import { loadConfig } from '../program/run-program.ts'
import { interruptible } from '../program/interrupted.ts'
import { decimal, wholeNumber } from '../program/options.ts'
import { createProgress } from '../program/progress.ts'

const SAMPLE = 64
/** Half precision and other kernels give more than 0.999; a model's int8 build some 0.99. */
const MIN_COSINE = 0.98

interface VectorsOptions {
  readonly madeBy: string
  readonly sameModel?: boolean
  readonly sample: number
  readonly minCosine: number
  readonly work: string
}

/** `cepe index vectors`: imports precomputed vectors for a planned corpus. */
export function vectorsCommand(): Command {
  return new Command('vectors')
    .description('import precomputed vectors into a planned corpus, matched by id; resumes when run again')
    .argument('<folder>', 'folder of `cepe index plan`')
    .argument(
      '<files...>',
      "or folders: Contriever's pickles (passages_00 ...), .npy with .ids.txt, JSON lines or Parquet with id and vector",
    )
    .requiredOption('--made-by <model>', 'model that made the vectors')
    .option('--same-model', "declare that --made-by is the plan's retriever under another name")
    .option('--sample <number>', 'passages to embed and compare, at least one per shard', wholeNumber({ min: 1 }), SAMPLE)
    .option('--min-cosine <number>', "minimum cosine between a given vector and the retriever's own", decimal({ max: 1 }), MIN_COSINE)
    .option('--work <folder>', 'folder for temporary files of JSON lines and Parquet, 2 bytes per number', tmpdir())
    .action(async (folder: string, given: string[], { work, sameModel = false, ...options }: VectorsOptions) => {
      const config = await loadConfig()
      const [{ openShardDir }, { giveVectors }, { vectorFiles }, { openEmbedding }, { ensureRetriever }] = await Promise.all([
        import('../../../index/ingest/shard-dir/shard-dir.ts'),
        import('../../../index/vectors/give.ts'),
        import('../../../index/vectors/open.ts'),
        import('../../service/models.ts'),
        import('../../service/setup.ts'),
      ])
      const shardDir = await openShardDir(path.resolve(folder))
      const files = await vectorFiles(given.map((file) => path.resolve(file)))
      await ensureRetriever(config, createProgress)
      const embedding = await openEmbedding(config)
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
          process.stderr.write(`${foreign.count} vectors are of passages that are not in the plan (${named(foreign)}): ignored.\n`)
        if (missing.count === 0) return
        process.exitCode = 1
        process.stderr.write(
          `${missing.count} passages have no vector (${named(missing)}): ${missing.shards} shards were skipped. Provide files with them, all of one shard at once, or run \`cepe index pending ${shardDir.folder} | cepe embed-worker ${shardDir.folder}\`.\n`,
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
