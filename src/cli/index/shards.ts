import { counted } from '../../../base/at.ts'
import { Command } from 'commander'
import { stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { closing } from '../../../base/files.ts'
import { notFound } from '../../../base/errors.ts'
import type { GiveOptions } from '../../../index/vectors/give.ts'
import type { Named } from '../../../index/vectors/given.ts'
import { interruptible } from '../program/interrupted.ts'
import { collectionOption, decimal, wholeNumber } from '../program/options.ts'
import { createProgress } from '../program/progress.ts'
import { print, say, shown } from '../program/shown.ts'
import { loadConfig } from '../program/run-program.ts'
import { follow, withIndexing } from './jobs.ts'
import { jobOptions, type ReadingOptions, withReadingOptions } from './reading-options.ts'

const SAMPLE = 64
/** Half precision and other kernels give more than 0.999; a model's int8 build some 0.99. */
const MIN_COSINE = 0.98

interface VectorsOptions extends Pick<GiveOptions, 'madeBy' | 'sample' | 'minCosine' | 'work'> {
  readonly sameModel?: boolean
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
      const { openShardDir } = await import('../../../index/ingest/shard-dir/shard-dir.ts')
      const { giveVectors } = await import('../../../index/vectors/give.ts')
      const { vectorFiles } = await import('../../../index/vectors/open.ts')
      const { openEmbedding } = await import('../../service/models.ts')
      const { ensureRetriever } = await import('../../service/setup.ts')
      const shardDir = await openShardDir(path.resolve(folder))
      const files = await vectorFiles(given.map((file) => path.resolve(file)))
      await ensureRetriever(config, createProgress)
      await using embedding = closing(await openEmbedding(config))
      const bars = { reading: createProgress('Reading ids', 'ids'), writing: createProgress('Comparing and writing', 'shards') }
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
      ).finally(() => Object.values(bars).forEach((bar) => bar.stop()))
      const least = compared === 0 ? '' : `, least cosine ${leastCosine.toFixed(4)}`
      await print(
        `${shardDir.folder}: vectors of ${counted(written, 'shard')} written, ${present} had theirs; ${counted(compared, 'passage')} compared${least}\n`,
      )
      if (foreign.count > 0) say(`${counted(foreign.count, 'vector')} of passages that are not in the plan (${named(foreign)}): ignored.`)
      if (missing.count === 0) return
      process.exitCode = 1
      say(
        `No vector is given for ${counted(missing.count, 'passage')} (${named(missing)}): ${counted(missing.shards, 'shard')} skipped. Provide files with them, all of one shard at once, or run \`cepe index pending ${shardDir.folder} | cepe embed-worker ${shardDir.folder}\`.`,
      )
    })
}

function named({ count, examples }: Named): string {
  return examples.map((id) => `"${id}"`).join(', ') + (count > examples.length ? ', ...' : '')
}

/** `cepe index plan`: plans a corpus as shards for distributed embedding. */
export function planCommand(): Command {
  return withReadingOptions(new Command('plan'))
    .description('split a corpus into shards for `cepe embed-worker` on one or several machines')
    .argument('<corpus>', 'file, as for `cepe index add`')
    .requiredOption('--out <folder>', 'output folder; an identical existing plan is kept')
    .option('--shard-rows <number>', 'passages per shard (the unit of commits and retries)', wholeNumber({ min: 1, max: 65_536 }))
    .action(async (given: string, { out, shardRows, ...reading }: ReadingOptions & { out: string; shardRows?: number }) => {
      const config = await loadConfig()
      const file = path.resolve(given)
      const found = await stat(file).catch(() => undefined)
      if (found?.isFile() !== true) throw notFound('corpus', `The file ${file} does not exist.`)
      const { planShardDir } = await import('../../../index/ingest/shard-dir/shard-dir.ts')
      const { readPassageFile } = await import('../../../index/read/read.ts')
      const { checkOptions, corpusReadOptions } = await import('../../jobs/sources/reading.ts')
      const { rejectedShare } = await import('../../jobs/record/schema.ts')
      const { configuredRetrievers } = await import('../../service/models.ts')
      const { ensureRetriever } = await import('../../service/setup.ts')
      await ensureRetriever(config, createProgress)
      const options = jobOptions(reading)
      checkOptions({ path: file }, options)
      const progress = createProgress(`Planning ${path.basename(file)}`, 'lines')
      const shardDir = await planShardDir(() => readPassageFile(file, corpusReadOptions(options, path.basename(file))), {
        folder: path.resolve(out),
        model: (await configuredRetrievers(config)).model,
        name: path.basename(file),
        corpus: JSON.stringify([path.basename(file), found.size, Math.trunc(found.mtimeMs), options, shardRows]),
        maxRejectedShare: rejectedShare(options),
        onProgress: ({ read }) => progress.update(read, 0),
        shardRows,
      }).finally(() => progress.stop())
      const { accepted, rejected, shard_rows } = shardDir.plan
      await print(
        `${shardDir.folder}: ${counted(accepted, 'passage')} in ${counted(shard_rows.length, 'shard')}, ${counted(rejected, 'line')} rejected\n`,
      )
    })
}

/** `cepe index pending`: lists pending shards, as input of `cepe embed-worker`. */
export function pendingCommand(): Command {
  return new Command('pending')
    .description('list the shards of a planned corpus with missing or damaged vectors, as input for `cepe embed-worker`')
    .argument('<folder>', 'folder of `cepe index plan`')
    .action(async (folder: string) => {
      const { inspectShardDir, openShardDir } = await import('../../../index/ingest/shard-dir/shard-dir.ts')
      const shardDir = await openShardDir(path.resolve(folder))
      const { missing, foreign } = await inspectShardDir(shardDir, { whole: true })
      for (const { file, why } of foreign) say(shown(`${file} ${why}`))
      const work = [...missing, ...foreign.flatMap(({ shard }) => shard ?? [])].sort((a, b) => a - b)
      for (const shard of work) await printLine({ shard })
    })
}

/** `cepe index commit`: commits the vectors of a planned corpus, as a job. */
export function commitCommand(): Command {
  return new Command('commit')
    .description('commit the vectors of a planned corpus to the collection; resumes when run again')
    .argument('<folder>', 'folder of `cepe index plan`')
    .option('--replace', 'replace the contents of the collection with this corpus')
    .addOption(collectionOption())
    .action((folder: string, { collection: table, replace }: { collection?: string; replace?: boolean }) =>
      withIndexing(table, 'embeds', ({ jobs }) =>
        follow(jobs, jobs.addShardDir(path.resolve(folder), replace === true ? { replace } : {}), table),
      ),
    )
}

/** `cepe embed-worker`: a worker for schedulers. Reads work from standard input and writes results to standard output as JSON lines. */
export function embedWorkerCommand(): Command {
  return new Command('embed-worker')
    .description('embed shards of a planned corpus: reads {"shard": <number>} lines from standard input, writes one result line for each')
    .argument('<folder>', 'folder of `cepe index plan`')
    .action(async (folder: string) => {
      const config = await loadConfig()
      const { checkShardDirModel, openShardDir } = await import('../../../index/ingest/shard-dir/shard-dir.ts')
      const { answerWork } = await import('../../../index/ingest/shard-dir/embed-work.ts')
      const { openEmbedding } = await import('../../service/models.ts')
      const { ensureRetriever } = await import('../../service/setup.ts')
      const shardDir = await openShardDir(path.resolve(folder))
      await ensureRetriever(config, createProgress)
      await using embedding = closing(await openEmbedding(config))
      checkShardDirModel(shardDir, embedding.model)
      const { model, plan } = shardDir
      await printLine({ state: 'ready', model, shards: plan.shard_rows.length, passages: plan.accepted })
      const input = process.stdin as AsyncIterable<Buffer>
      for await (const done of answerWork(input, shardDir, embedding.embed, new AbortController().signal)) {
        if (done.state === 'failed') process.exitCode = 1
        await printLine(done)
      }
    })
}

function printLine(line: object): Promise<unknown> {
  return print(`${JSON.stringify(line)}\n`)
}
