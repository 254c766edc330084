import { Command, Option } from 'commander'
import path from 'node:path'
import { loadConfig } from '../config.ts'
import { followJob } from '../follow-job.ts'
import type { Job, JobOptions } from '../jobs/schema.ts'
import { createIndexing, type Indexing } from '../services.ts'
import { ensureRetriever } from '../setup.ts'
import { decimal, wholeNumber } from './numbers.ts'
import { createProgress } from './progress.ts'

/** Words of a passage where --split is given without a number: the literature's. */
const SPLIT_WORDS = 100

interface AddOptions {
  readonly replace?: boolean
  readonly split?: number | true
  readonly format?: 'tsv' | 'jsonl' | 'parquet'
  readonly label?: string
  readonly maxRejected?: number
  readonly table?: string
}

export function indexCommand(): Command {
  return new Command('index')
    .description('put passages into the index and follow the jobs that do so')
    .addCommand(addCommand())
    .addCommand(
      tableCommand({
        name: 'status',
        description: 'show the index and its jobs',
        argument: '[job]',
        run: async ({ index, jobs }, id?: string) => {
          if (id !== undefined) return process.stdout.write(`${JSON.stringify(await jobs.get(id), null, 2)}\n`)
          const summary = await index.info().then(
            ({ table, rows, version, kind, model }) => `table ${table}: ${rows} passages, version ${version}, ${kind} search, ${model}`,
            (error: Error) => error.message,
          )
          return process.stdout.write(`${[summary, ...(await jobs.list()).map(line)].join('\n')}\n`)
        },
      }),
    )
    .addCommand(
      tableCommand({
        name: 'cancel',
        description: 'end a job; what it committed to a live table stays',
        argument: '<job>',
        run: async ({ jobs }, id = '') => process.stdout.write(`${line(await jobs.cancel(id))}\n`),
      }),
    )
    .addCommand(
      tableCommand({
        name: 'resume',
        description: 'go on with a stopped job',
        argument: '<job>',
        need: 'embeds',
        run: async ({ jobs }, id = '') => {
          await jobs.resume(id)
          process.stdout.write(`${line(await untilEnded(jobs, id))}\n`)
        },
      }),
    )
}

function addCommand(): Command {
  return new Command('add')
    .description('index a corpus file: psgs_w100.tsv shape, JSONL or Parquet; .gz too')
    .argument('<file>')
    .option('--replace', 'the table is to hold this corpus and nothing else')
    .option('--split [words]', `cut documents into passages of about so many words (${SPLIT_WORDS})`, wholeNumber({ min: 1 }))
    .addOption(new Option('--format <format>', 'found out from the content where absent').choices(['tsv', 'jsonl', 'parquet']))
    .option('--label <text>', "source of passages that name none (default: the file's name)")
    .option('--max-rejected <share>', 'share of bad lines that fails the job, 0 to 1', decimal({ max: 1 }))
    .option('--table <name>', 'table, instead of the configured one')
    .action(async (file: string, options: AddOptions) => {
      await withIndexing(options.table, 'embeds', async ({ jobs }) => {
        const { id } = await jobs.addFile(path.resolve(file), jobOptions(options))
        process.stdout.write(`${line(await untilEnded(jobs, id))}\n`)
      })
    })
}

interface TableCommand {
  readonly name: string
  readonly description: string
  readonly argument: string
  readonly need?: Need
  readonly run: (indexing: Indexing, id?: string) => Promise<unknown>
}

function tableCommand({ name, description, argument, need = 'looks', run }: TableCommand): Command {
  return new Command(name)
    .description(description)
    .argument(argument)
    .option('--table <name>', 'table, instead of the configured one')
    .action(async (id: string | undefined, { table }: { table?: string }) => {
      await withIndexing(table, need, (indexing) => run(indexing, id))
    })
}

/** Whether a command embeds passages, for which the retriever is built or checked, or only looks at what is there. */
type Need = 'embeds' | 'looks'

async function withIndexing(table: string | undefined, need: Need, run: (indexing: Indexing) => Promise<unknown>): Promise<void> {
  const config = loadConfig({ TABLE: table })
  if (need === 'embeds') await ensureRetriever(config, createProgress)
  const indexing = await createIndexing(config)
  try {
    await run(indexing)
  } finally {
    await indexing.close()
  }
}

/** Follows a job; Ctrl-C leaves it where it stands, to be resumed. */
async function untilEnded(jobs: Indexing['jobs'], id: string): Promise<Job> {
  const interrupted = new AbortController()
  const interrupt = (): void => {
    process.stderr.write(`\nThe job goes on where it stopped at the next start of the service, or with: cepe index resume ${id}\n`)
    interrupted.abort()
  }
  process.once('SIGINT', interrupt)
  try {
    return await followJob(jobs, id, createProgress, interrupted.signal)
  } finally {
    process.removeListener('SIGINT', interrupt)
  }
}

function jobOptions({ replace, split, format, label, maxRejected }: AddOptions): JobOptions {
  return {
    ...(replace === true && { replace }),
    ...(split !== undefined && { split_words: split === true ? SPLIT_WORDS : split }),
    ...(format !== undefined && { format }),
    ...(label !== undefined && { label }),
    ...(maxRejected !== undefined && { max_rejected_share: maxRejected }),
  }
}

function line({ id, state, source, counters, result, error }: Job): string {
  const { committed, accepted, skipped, rejected } = counters
  const outcome = error ? `: ${error.message}` : result ? `; ${result.rows} passages in the table` : ''
  return `${id}  ${state}  ${source.name}  ${committed}/${accepted} committed, ${skipped} unchanged, ${rejected} rejected${outcome}`
}
