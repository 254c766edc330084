import { stat } from 'node:fs/promises'
import path from 'node:path'
import { Command } from 'commander'
import { CodedError } from '../../../base/errors.ts'
import { loadConfig } from '../program/run-program.ts'
import { wholeNumber, collectionOption } from '../program/options.ts'
import { createProgress } from '../program/progress.ts'
import { follow, withIndexing } from './jobs.ts'
import { jobOptions, withReadingOptions, type ReadingOptions } from './reading-options.ts'

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
      if (found?.isFile() !== true) throw new CodedError('not_found', `The file ${file} does not exist.`, { field: 'corpus' })
      const [
        { planShardDir },
        { readPassageFile },
        { corpusReadOptions },
        { DEFAULT_REJECTED_SHARE },
        { configuredRetrievers },
        { ensureRetriever },
      ] = await Promise.all([
        import('../../../index/ingest/shard-dir/shard-dir.ts'),
        import('../../../index/read/read.ts'),
        import('../../jobs/reading.ts'),
        import('../../jobs/schema.ts'),
        import('../../service/models.ts'),
        import('../../service/setup.ts'),
      ])
      await ensureRetriever(config, createProgress)
      const options = jobOptions(reading)
      const progress = createProgress(`Planning ${path.basename(file)}`, 'lines')
      const shardDir = await planShardDir(() => readPassageFile(file, corpusReadOptions(options, path.basename(file), undefined)), {
        folder: path.resolve(out),
        model: (await configuredRetrievers(config)).model,
        name: path.basename(file),
        corpus: JSON.stringify([path.basename(file), found.size, Math.trunc(found.mtimeMs), options, shardRows]),
        maxRejectedShare: options.max_rejected_share ?? DEFAULT_REJECTED_SHARE,
        onProgress: ({ read }) => progress.update(read, 0),
        shardRows,
      }).finally(() => progress.stop())
      const { accepted, rejected, shard_rows } = shardDir.plan
      process.stdout.write(`${shardDir.folder}: ${accepted} passages in ${shard_rows.length} shards, ${rejected} lines rejected\n`)
    })
}

/** `cepe index pending`: lists pending shards, as input of `cepe embed-worker`. */
export function pendingCommand(): Command {
  return new Command('pending')
    .description('list the shards of a planned corpus with missing or damaged vectors, as input for `cepe embed-worker`')
    .argument('<folder>', 'folder of `cepe index plan`')
    .action(async (folder: string) => {
      const [{ openShardDir }, { inspectShardDir }] = await Promise.all([
        import('../../../index/ingest/shard-dir/shard-dir.ts'),
        import('../../../index/ingest/shard-dir/check.ts'),
      ])
      const shardDir = await openShardDir(path.resolve(folder))
      const { missing, foreign } = await inspectShardDir(shardDir, { whole: true })
      for (const { file, why } of foreign) process.stderr.write(`${file} ${why}\n`)
      const work = [...missing, ...foreign.flatMap(({ shard }) => shard ?? [])].sort((a, b) => a - b)
      for (const shard of work) process.stdout.write(`${JSON.stringify({ shard })}\n`)
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
      withIndexing(table, 'embeds', ({ jobs }) => {
        const ordered = jobs.addShardDir(path.resolve(folder), replace === true ? { replace } : {})
        return follow(jobs, ordered, table)
      }),
    )
}
