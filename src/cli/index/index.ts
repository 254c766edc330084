import { counted, sizeText } from '../../../base/at.ts'
import { Command } from 'commander'
import { CodedError } from '../../../base/errors.ts'
import { closing } from '../../../base/files.ts'
import type { IndexInfo } from '../../../index/view.ts'
import type { AheadProgress } from '../../inference/encode-ahead.ts'
import type { Indexing } from '../../service/indexing.ts'
import { addCommand } from './add.ts'
import { contentsCommands, snapshotCommands } from './contents.ts'
import { commitCommand, pendingCommand, planCommand, vectorsCommand } from './shards.ts'
import { loadConfig, loadWritingConfig } from '../program/run-program.ts'
import { cancel, changingCommand, follow, indexingCommand, listed, type Options, showJob } from './jobs.ts'
import { collectionOption } from '../program/options.ts'
import { interruptible } from '../program/interrupted.ts'
import { createProgress } from '../program/progress.ts'
import { print } from '../program/shown.ts'

const REEMBED = 're-embed the texts of the collection with the configured retriever; the old vectors serve until the new ones are verified'

/** `cepe index`: commands on a corpus and its table, as help lists them: in the order of use. */
export function indexCommand(): Command {
  const command = new Command('index').description('add passages to the index and manage index jobs')
  const resume = ({ jobs }: Indexing, [id = '']: readonly string[], { collection }: Options) => follow(jobs, jobs.resume(id), collection)
  const { report, exporting, sources, remove } = contentsCommands()
  const { snapshot, verify, alias } = snapshotCommands()
  const commands = [
    addCommand(),
    indexingCommand('status', 'show the index and its jobs', status).argument('[job]'),
    sources,
    remove,
    report,
    indexingCommand('resume', 'resume a stopped job', resume, 'embeds').argument('<job>'),
    changingCommand('cancel', 'cancel a job; passages already committed stay', ({ jobs }, [id = '']) => cancel(jobs, id)).argument('<job>'),
    exporting,
    snapshot,
    alias,
    verify,
    indexingCommand('reembed', REEMBED, ({ jobs }, _, { collection }) => follow(jobs, jobs.addReembed(), collection), 'embeds'),
    maintenanceCommand('compact', 'compact small files, update the indexes and remove expired versions'),
    maintenanceCommand('cleanup', 'remove the files of expired versions'),
    encodeAheadCommand(),
    planCommand(),
    vectorsCommand(),
    pendingCommand(),
    commitCommand(),
  ]
  for (const one of commands) command.addCommand(one)
  return command
}

function maintenanceCommand(task: 'compact' | 'cleanup', description: string): Command {
  return new Command(task)
    .description(description)
    .option('--dry-run', 'print what would be done and exit')
    .addOption(collectionOption())
    .action(async ({ dryRun = false, collection: name }: { dryRun?: boolean; collection?: string }) => {
      const config = await (dryRun ? loadConfig : loadWritingConfig)({ TABLE: name })
      const { INDEX_DIR: dir, TABLE: table, KEEP_VERSIONS_MIN: minutes } = config
      const { jobsDir, useScratch } = await import('../../service/storage.ts')
      const { configuredRetrievers } = await import('../../service/models.ts')
      const { compactionCommand } = await import('../../../index/compaction/compact.ts')
      const { removeReplaced } = await import('../../jobs/run/runner.ts')
      await useScratch()
      // Without a built retriever it is unknown what replaced tables still serve.
      const models = dryRun ? undefined : await configuredRetrievers(config).catch(() => undefined)
      const replaced = await removeReplaced({ dir, table }, jobsDir(config), models)
      const { before, after } = await compactionCommand({ dir, table, task, keepMs: minutes * 60_000, dryRun })
      const shown = ({ fragments, surplus, oldVersions, bytes, diskBytes }: typeof before): string =>
        `${counted(fragments, 'fragment')} (${surplus} to compact), ${counted(oldVersions, 'expired version')}, ${sizeText(bytes)} in use of ${sizeText(diskBytes)} on the disk`
      const lines = [`${table}: ${shown(before)}`, ...(after === undefined ? [] : [`now: ${shown(after)}`])]
      if (replaced.before.length > replaced.after.length)
        lines.push(`${counted(replaced.before.length - replaced.after.length, 'replaced table')} removed`)
      await print(`${[...lines, ...replacedLine(replaced.after)].join('\n')}\n`)
    })
}

function replacedLine(tables: readonly { readonly bytes: number }[]): string[] {
  if (tables.length === 0) return []
  const bytes = tables.reduce((sum, table) => sum + table.bytes, 0)
  const when = 'removed once nothing reads them, a minute after they were replaced: by the service, the next job or cepe index cleanup'
  return [`replaced tables: ${tables.length}, ${sizeText(bytes)} (${when})`]
}

async function status({ index, jobs }: Indexing, [id]: readonly string[]): Promise<string | void> {
  if (id !== undefined) return showJob(jobs, id)
  const summary = await index.info().then(described, (error: Error) => {
    // A collection that is not made yet is none of the failures.
    if (!(error instanceof CodedError) || error.code !== 'index_missing') process.exitCode = 1
    return error.message
  })
  // Reports an unsearchable table, after counting its passages.
  const toLine = (error: Error): string[] => [error.message]
  const unfit = await index.view().then(() => [], toLine)
  const replaced = await jobs.replacedTables().then(replacedLine, toLine)
  return `${[...new Set([summary, ...unfit, ...replaced]), ...(await listed(jobs))].join('\n')}\n`
}

function described({ table, rows, version, kind, recall, questionRecall, model }: IndexInfo): string {
  const questions = questionRecall === null ? '' : `, of questions ${questionRecall.toFixed(3)}`
  const found = recall === null ? '' : ` (recall@10 ${recall.toFixed(3)}${questions})`
  return `collection ${table}: ${counted(rows, 'passage')}, version ${version}, ${kind} search${found}, ${model}`
}

/** `cepe index encode-ahead`: Ctrl-C leaves what is stored, and another run resumes from there. */
function encodeAheadCommand(): Command {
  return new Command('encode-ahead')
    .description('precompute the encoder states of all passages on disk (CEPE_STATE_DISK_MB)')
    .addOption(collectionOption())
    .action(async ({ collection: table }: { collection?: string }) => {
      const config = await loadConfig({ TABLE: table })
      const { encodeIndexAhead } = await import('../../inference/encode-ahead.ts')
      const { openAheadEncoding, requireStateDisk } = await import('../../service/indexing.ts')
      const { ensureReader } = await import('../../service/setup.ts')
      requireStateDisk(config)
      await ensureReader(config, createProgress)
      await using encoding = closing(await openAheadEncoding(config))
      const progress = createProgress('Encoding passages ahead', 'passages')
      const onProgress = ({ done, total, bytes, left }: AheadProgress): void =>
        progress.update(done, total, left === undefined ? '' : `${sizeText(bytes)} written, about ${sizeText(left)} to come`)
      const { done, stored, bytes } = await interruptible(
        (signal) => encodeIndexAhead({ ...encoding, onProgress, signal }),
        () => 'Interrupted: stored states are kept; run the command again to resume.',
      ).finally(() => progress.stop())
      await print(`states of ${counted(done, 'passage')} on the disk: ${stored} new, of ${sizeText(bytes)}\n`)
    })
}
