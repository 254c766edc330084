import { Command } from 'commander'
import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { CodedError } from '../../../base/errors.ts'
import { exists } from '../../../base/exists.ts'
import type { PassageIndex } from '../../../index/passage-index.ts'
import { collectionOption } from '../program/options.ts'
import { withIndexing } from './jobs.ts'

interface Options {
  readonly collection?: string
  readonly source?: string
}

/** `cepe index report`, `export`, `sources` and `delete`: rejected lines of a job, and the index's content. */
export function contentsCommands(): Command[] {
  const command = (name: string, description: string): Command => new Command(name).description(description).addOption(collectionOption())
  return [
    command('report', 'print the rejected lines of a job with reasons, as JSON lines')
      .argument('<job>')
      .action((job: string, { collection }: Options) =>
        withIndexing(collection, 'looks', async ({ jobs }) => {
          const path = await jobs.reportPath(job)
          if (await exists(path)) await print(createReadStream(path))
        }),
      ),
    command('export', 'print all passages as JSON lines, which can be indexed again')
      .option('--source <text>', "only passages from this source; '' for those without one")
      .action(({ collection, source }: Options) =>
        withIndexing(collection, 'looks', async ({ index }) => {
          if (source !== undefined) await requireSource(index, source)
          const lines = async function* (): AsyncGenerator<string> {
            for await (const passage of index.export(source === undefined ? undefined : { source })) yield `${JSON.stringify(passage)}\n`
          }
          await print(Readable.from(lines()))
        }),
      ),
    command('sources', 'list the sources with their number of passages').action(({ collection }: Options) =>
      withIndexing(collection, 'looks', async ({ index }) => {
        for (const { source, passages } of await index.sources()) process.stdout.write(`${passages}\t${source}\n`)
      }),
    ),
    command('delete', 'delete all passages from a source')
      .requiredOption('--source <text>', 'as `cepe index sources` shows it')
      .action(({ collection, source = '' }: Options) => {
        // Most likely an unset shell variable; it would match all passages without a source.
        if (source === '') throw new CodedError('options_invalid', '--source is empty: name the source to delete.', { field: '--source' })
        return withIndexing(collection, 'looks', async ({ index }) => {
          await requireSource(index, source)
          process.stdout.write(`${await index.delete({ source })} passages deleted\n`)
        })
      }),
  ]
}

/** @throws not_found for a source without passages, most likely a typing error */
async function requireSource(index: Pick<PassageIndex, 'count' | 'table'>, source: string): Promise<void> {
  if ((await index.count({ source })) > 0) return
  throw new CodedError(
    'not_found',
    `There are no passages from ${JSON.stringify(source)} in the collection ${index.table}: \`cepe index sources\` lists the sources.`,
    { field: '--source' },
  )
}

function print(stream: Readable): Promise<void> {
  return pipeline(stream, process.stdout, { end: false })
}
