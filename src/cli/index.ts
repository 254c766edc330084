import { Command } from 'commander'
import { CodedError, messageOf } from '../../base/errors.ts'
import type { IndexInfo } from '../../index/contract.ts'
import type { FragmentationState } from '../../index/compaction/command.ts'
import type { Jobs } from '../jobs/jobs.ts'
import type { Job, JobOptions } from '../jobs/schema.ts'
import type { Indexing } from '../service/services.ts'
import { corpusFiles } from './corpus-files.ts'
import { contentsCommands } from './index-contents.ts'
import { commitCommand, pendingCommand, planCommand } from './index-shards.ts'
import { vectorsCommand } from './index-vectors.ts'
import { snapshotCommands } from './index-snapshots.ts'
import { encodeAheadCommand } from './encode-ahead.ts'
import { loadConfig } from './load-config.ts'
import { interruptible, interruptibleAtOnce } from './interrupted.ts'
import { createProgress } from './progress.ts'
import { jobOptions, withReadingOptions, type ReadingOptions } from './reading-options.ts'
import { tableOption } from './table-option.ts'

interface AddOptions extends ReadingOptions {
  readonly replace?: boolean
  readonly check?: boolean
  readonly table?: string
}

/** `cepe index`: what is done with a corpus and its table. */
export function indexCommand(): Command {
  const command = new Command('index')
  const looking = (table: string | undefined, run: (indexing: Indexing) => Promise<unknown>) => withIndexing(table, 'looks', run)
  for (const one of [...contentsCommands(looking), ...snapshotCommands(looking)]) command.addCommand(one)
  return command
    .description('add passages to the index and manage index jobs')
    .addCommand(addCommand())
    .addCommand(encodeAheadCommand())
    .addCommand(planCommand())
    .addCommand(vectorsCommand())
    .addCommand(pendingCommand())
    .addCommand(commitCommand((table, order) => withIndexing(table, 'embeds', ({ jobs }) => follow(jobs, order(jobs), table))))
    .addCommand(
      new Command('reembed')
        .description('make the table anew from its own texts with the configured retriever; it answers until the new one is verified')
        .addOption(tableOption())
        .action(({ table }: { table?: string }) => withIndexing(table, 'embeds', ({ jobs }) => follow(jobs, jobs.addReembed(), table))),
    )
    .addCommand(
      tableCommand({
        name: 'status',
        description: 'show the index and its jobs',
        argument: '[job]',
        run: async ({ index, jobs }, id?: string) => {
          if (id !== undefined) return showJob(jobs, id)
          const summary = await index.info().then(described, (error: Error) => error.message)
          // A table that can only be read says so, where its passages were counted.
          const unfit = await index.view().then(
            () => undefined,
            (error: Error) => error.message,
          )
          const said = unfit === undefined || unfit === summary ? [summary] : [summary, unfit]
          return process.stdout.write(`${[...said, ...(await listed(jobs))].join('\n')}\n`)
        },
      }),
    )
    .addCommand(maintenanceCommand('compact', 'compact small files, update the indexes and remove expired versions'))
    .addCommand(maintenanceCommand('cleanup', 'remove the files of expired versions'))
    .addCommand(
      tableCommand({
        name: 'cancel',
        description: 'cancel a job; passages already committed stay in the table',
        argument: '<job>',
        run: ({ jobs }, id = '') => cancel(jobs, id),
      }),
    )
    .addCommand(
      tableCommand({
        name: 'resume',
        description: 'resume a stopped job',
        argument: '<job>',
        need: 'embeds',
        run: ({ jobs }, id = '', table?: string) => follow(jobs, jobs.resume(id), table),
      }),
    )
}

const KB = 1000
const MB = 1e6

/** `cepe index compact` and `cleanup`. */
function maintenanceCommand(task: 'compact' | 'cleanup', description: string): Command {
  return new Command(task)
    .description(description)
    .option('--dry-run', 'print what would be done and exit')
    .addOption(tableOption())
    .action(async ({ dryRun = false, table: name }: { dryRun?: boolean; table?: string }) => {
      const { INDEX_DIR: dir, TABLE: table, KEEP_VERSIONS_MIN: minutes } = await loadConfig({ TABLE: name })
      const [{ useScratch }, { compactionCommand }] = await Promise.all([
        import('../service/paths.ts'),
        import('../../index/compaction/command.ts'),
      ])
      await useScratch()
      const { before, after } = await compactionCommand({ dir, table, task, keepMs: minutes * 60_000, dryRun })
      const shown = ({ fragments, surplus, oldVersions, bytes, diskBytes }: FragmentationState): string =>
        `${fragments} fragments (${surplus} to compact), ${oldVersions} expired versions, ${Math.round(bytes / KB)} kB in use of ${Math.round(diskBytes / KB)} kB on the disk`
      process.stdout.write(`${table}: ${shown(before)}\n${after === undefined ? '' : `now: ${shown(after)}\n`}`)
    })
}

function addCommand(): Command {
  return withReadingOptions(new Command('add'))
    .description('index a corpus file: psgs_w100.tsv shape, CSV, JSON lines, a JSON array or Parquet; .gz too')
    .argument('<files...>', 'or folders of such files; each becomes a job')
    .option('--replace', 'replace the contents of the table with this corpus')
    .option('--check', 'validate the files without indexing them')
    .addOption(tableOption())
    .action(async (given: string[], options: AddOptions) => {
      const files = await corpusFiles(given)
      if (options.replace === true && files.length > 1)
        throw new CodedError(
          'options_invalid',
          '--replace takes one file: each of several would replace the one before. Join them, or add them.',
          { field: '--replace' },
        )
      await withIndexing(options.table, 'embeds', async ({ index, jobs }) => {
        for (const [i, file] of files.entries()) {
          if (options.check === true) await check(file, addOptions(options), index.model.dimension)
          else
            await follow(jobs, jobs.addFile(file, addOptions(options)), options.table).catch((error: unknown) =>
              stoppedBefore(files.slice(i + 1), error),
            )
        }
      })
    })
}

/** A job that fails ends the command: says which files are left. */
function stoppedBefore(left: readonly string[], error: unknown): never {
  if (left.length > 0) process.stderr.write(`Not started: ${left.join(', ')}\n`)
  throw error
}

/** Says what a job would meet; the exit status is 1 where it would fail. */
async function check(file: string, options: JobOptions, dimension: number): Promise<void> {
  const { checkFile } = await import('../jobs/check.ts')
  const found = await checkFile(file, options, dimension).catch((error: unknown) => {
    if (!(error instanceof CodedError)) throw error
    return error
  })
  if (found instanceof CodedError) {
    process.stdout.write(`${file}: ${messageOf(found)}: a job would fail\n`)
    process.exitCode = 1
    return
  }
  const { read, rejected, accepted, rejects, bytes, passes } = found
  for (const { line: at, reason, detail } of rejects) process.stdout.write(`line ${at}: ${reason}: ${detail}\n`)
  const size = `about ${Math.ceil(bytes / MB)} MB in the index`
  process.stdout.write(
    `${file}: ${read} lines, ${rejected} rejected, ${accepted} passages, ${size}: ${passes ? 'fit to index' : 'a job would fail'}\n`,
  )
  if (!passes) process.exitCode = 1
}

interface TableCommand {
  readonly name: string
  readonly description: string
  readonly argument: string
  readonly need?: Need
  readonly run: (indexing: Indexing, id?: string, table?: string) => Promise<unknown>
}

function tableCommand({ name, description, argument, need = 'looks', run }: TableCommand): Command {
  return new Command(name)
    .description(description)
    .argument(argument)
    .addOption(tableOption())
    .action(async (id: string | undefined, { table }: { table?: string }) => {
      await withIndexing(table, need, (indexing) => run(indexing, id, table))
    })
}

/** Whether a command embeds passages, for which the retriever is built or checked, or only looks at what is there. */
type Need = 'embeds' | 'looks'

async function withIndexing(table: string | undefined, need: Need, run: (indexing: Indexing) => Promise<unknown>): Promise<void> {
  const config = await loadConfig({ TABLE: table })
  const [{ createIndexing }, { ensureRetriever }] = await Promise.all([import('../service/services.ts'), import('../service/setup.ts')])
  const indexing = await interruptibleAtOnce(async () => {
    if (need === 'embeds') await ensureRetriever(config, createProgress)
    return createIndexing(config)
  }, 'Interrupted before anything was begun: run the command again.')
  try {
    await run(indexing)
  } finally {
    await indexing.close()
  }
}

/** Follows an ordered job to its end and says how it went; Ctrl-C leaves it where it stands, to be resumed. */
async function follow(jobs: Jobs, ordered: Promise<Job>, table: string | undefined): Promise<void> {
  const { id } = await ordered
  const { followJob } = await import('../service/follow-job.ts')
  const job = await interruptible(
    (signal) => followJob(jobs, id, createProgress, signal),
    async () => {
      // What is being written comes to its end first: what is said of the job is what is on the disk.
      await jobs.close()
      return leftOf(await jobs.get(id), table)
    },
  )
  process.stdout.write(`${line(job)}\n`)
}

/** What an interrupted job keeps, and how to resume it. */
function leftOf({ id, source, counters: { committed, accepted } }: Job, table: string | undefined): string {
  const kept =
    committed === 0
      ? `nothing of ${source.name} is committed yet`
      : `${committed} of ${accepted} passages of ${source.name} are committed and kept`
  return `Interrupted: ${kept}. The job resumes when the service starts again, or with: cepe index resume ${id}${table === undefined ? '' : ` --table ${table}`}`
}

/** All jobs, a line each. */
async function listed(jobs: Jobs): Promise<string[]> {
  const lines: string[] = []
  for (const job of await jobs.list()) lines.push(`${line(job)}${(await jobs.isAbandoned(job.id)) ? `: ${abandoned(job.id)}` : ''}`)
  return lines
}

async function showJob(jobs: Jobs, id: string): Promise<void> {
  process.stdout.write(`${JSON.stringify(await jobs.get(id), null, 2)}\n`)
  if (await jobs.isAbandoned(id)) process.stderr.write(`${abandoned(id)}\n`)
}

function abandoned(id: string): string {
  return `its process has ended, and nothing happens until the next start of the service, cepe index resume ${id} or cepe index cancel ${id}`
}

async function cancel(jobs: Jobs, id: string): Promise<void> {
  const { isSettled } = await import('../jobs/schema.ts')
  const wasAbandoned = await jobs.isAbandoned(id)
  const job = await jobs.cancel(id)
  const how = wasAbandoned
    ? ': its process had ended before'
    : isSettled(job.state)
      ? ''
      : ': the process that runs it ends it at its next step'
  process.stdout.write(`${line(job)}${how}\n`)
}

function addOptions(options: AddOptions): JobOptions {
  return { ...(options.replace === true && { replace: true }), ...jobOptions(options) }
}

function described({ table, rows, version, kind, recall, questionRecall, model }: IndexInfo): string {
  const questions = questionRecall === null ? '' : `, of questions ${questionRecall.toFixed(3)}`
  const found = recall === null ? '' : ` (recall@10 ${recall.toFixed(3)}${questions})`
  return `table ${table}: ${rows} passages, version ${version}, ${kind} search${found}, ${model}`
}

function line({ id, state, source, counters, result, error }: Job): string {
  const { committed, accepted, skipped, rejected } = counters
  const outcome = error ? `: ${error.message}` : result ? `; ${result.rows} passages in the table` : ''
  return `${id}  ${state}  ${source.name}  ${committed}/${accepted} committed, ${skipped} unchanged, ${rejected} rejected${outcome}`
}
