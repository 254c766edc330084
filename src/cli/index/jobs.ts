import { counted } from '../../../base/at.ts'
import { Command } from 'commander'
import { closing } from '../../../base/files.ts'
import type { Jobs } from '../../jobs/jobs.ts'
import { describeFiles } from '../../jobs/sources/summary.ts'
import type { Job } from '../../jobs/record/schema.ts'
import type { Indexing } from '../../service/indexing.ts'
import { interruptible, interruptibleAtOnce } from '../program/interrupted.ts'
import { collectionOption } from '../program/options.ts'
import { loadConfig, loadWritingConfig } from '../program/run-program.ts'
import { createProgress } from '../program/progress.ts'
import { print, say, shown } from '../program/shown.ts'

/** What a command does: embed passages (the retriever is built or verified), change the index, only read it, or check what would be embedded. */
type Need = 'embeds' | 'changes' | 'reads' | 'checks'

/** Opens the index and its jobs, and closes them after the work. */
export async function withIndexing(table: string | undefined, need: Need, run: (indexing: Indexing) => Promise<unknown>): Promise<void> {
  const isReading = need === 'reads' || need === 'checks'
  const config = await (isReading ? loadConfig : loadWritingConfig)({ TABLE: table })
  const [{ openCommand }, { ensureRetriever }, { forReading }] = await Promise.all([
    import('../../service/indexing.ts'),
    import('../../service/setup.ts'),
    import('../../service/storage.ts'),
  ])
  const opening = interruptibleAtOnce(async () => {
    if (need === 'embeds' || need === 'checks') await ensureRetriever(config, createProgress)
    return openCommand(isReading ? await forReading(config) : config)
  }, 'Interrupted before anything was begun: run the command again.')
  await using indexing = closing(await opening)
  await run(indexing)
}

/** Options that the commands share. */
export interface Options {
  readonly collection?: string
  readonly source?: string
}

type Run = (indexing: Indexing, args: readonly string[], options: Options) => Promise<unknown>

/** Creates a command on a collection. @param run does its work; a text that it returns is printed */
export function indexingCommand(name: string, description: string, run: Run, need: Need = 'reads'): Command {
  const command = new Command(name).description(description).addOption(collectionOption())
  return command.action(() => {
    const options = command.opts<Options>()
    return withIndexing(options.collection, need, async (indexing) => {
      const said = await run(indexing, command.args, options)
      if (typeof said === 'string') await print(said)
    })
  })
}

/** As {@link indexingCommand}, of a command that changes the index without embedding. */
export function changingCommand(name: string, description: string, run: Run): Command {
  return indexingCommand(name, description, run, 'changes')
}

/** Follows a job to its end and prints the result; Ctrl-C or the signal leaves it resumable. */
export async function follow(jobs: Jobs, ordered: Promise<Job>, table: string | undefined, ending?: AbortSignal): Promise<Job> {
  const { id } = await ordered
  const { followJob } = await import('../../service/follow-job.ts')
  const job = await interruptible(
    (signal) => followJob(jobs, id, createProgress, signal),
    async () => {
      // Pending writes finish first, so that the printed state is that on disk.
      await jobs.close()
      return leftOf(await jobs.get(id), table)
    },
    ending,
  )
  for (const warning of job.warnings) say(shown(`${job.source.name}: ${warning}`))
  await print(`${line(job)}\n`)
  return job
}

/** What an interrupted job keeps, and how to resume it. */
function leftOf({ id, source, counters: { committed, accepted } }: Job, table: string | undefined): string {
  const kept =
    committed === 0
      ? `nothing of ${source.name} is committed yet`
      : `${committed} of ${counted(accepted, 'passage')} of ${source.name} committed and kept`
  return `Interrupted: ${kept}. The job resumes when the service starts again, or with: cepe index resume ${id}${table === undefined ? '' : ` --collection ${table}`}`
}

/** All jobs, one per line. */
export async function listed(jobs: Jobs): Promise<string[]> {
  const lines: string[] = []
  for (const job of await jobs.list()) lines.push(`${line(job)}${(await jobs.isAbandoned(job.id)) ? `: ${abandoned(job.id)}` : ''}`)
  for (const id of await jobs.unreadable()) lines.push(`${id}  its record cannot be read: cepe index status ${id}`)
  return lines
}

/** Prints a job's record. */
export async function showJob(jobs: Jobs, id: string): Promise<void> {
  await print(`${JSON.stringify(await jobs.get(id), null, 2)}\n`)
  if (await jobs.isAbandoned(id)) say(abandoned(id))
}

function abandoned(id: string): string {
  return `its process has ended, and nothing happens until the next start of the service, cepe index resume ${id} or cepe index cancel ${id}`
}

/** Cancels a job. @returns its state */
export async function cancel(jobs: Jobs, id: string): Promise<string> {
  const { isSettled } = await import('../../jobs/record/schema.ts')
  const wasAbandoned = await jobs.isAbandoned(id)
  const job = await jobs.cancel(id)
  const how = wasAbandoned
    ? ': its process had ended before'
    : isSettled(job.state)
      ? ''
      : ': the process that runs it ends it at its next step'
  return `${line(job)}${how}\n`
}

function line({ id, table, state, source, counters, files, result, error }: Job): string {
  const { committed, accepted, skipped, rejected } = counters
  const outcome = result
    ? `; ${counted(result.rows, 'passage')} in the collection ${table}`
    : `; collection ${table}${error ? `: ${error.message}` : ''}`
  const rejects = files === undefined ? `${rejected} rejected` : describeFiles(files)
  return shown(`${id}  ${state}  ${source.name}  ${committed}/${accepted} committed, ${skipped} unchanged, ${rejects}${outcome}`)
}
