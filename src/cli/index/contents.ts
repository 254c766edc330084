import { counted, sizeText } from '../../../base/at.ts'
import { Command } from 'commander'
import { invalidOption, notFound } from '../../../base/errors.ts'
import type { PassageIndex } from '../../../index/passage-index.ts'
import { exportLines } from '../../../index/read/contract.ts'
import { createProgress } from '../program/progress.ts'
import { print, quoted, unquoted } from '../program/shown.ts'
import { changingCommand, indexingCommand } from './jobs.ts'

const KB = 1000

const snapshots = () => import('../../../index/snapshots/snapshots.ts')

/** `cepe index snapshot`, `cepe index verify` and `cepe index alias`. */
export function snapshotCommands() {
  const create = changingCommand('create', 'create a snapshot of the collection', async ({ index }, [name = '']) => {
    const { rows } = await (await snapshots()).createSnapshot(name, index)
    return `${name}: snapshot of ${counted(rows, 'passage')} created\n`
  })
  const list = indexingCommand('list', 'list the snapshots of the collection', async ({ index }) =>
    (await (await snapshots()).listSnapshots(index))
      .map(
        ({ name, created_at, rows, bytes, model, problem }) =>
          `${name}\t${problem?.message ?? `${created_at}\t${counted(rows ?? 0, 'passage')}\t${sizeText(bytes)} freed if deleted\t${model}`}\n`,
      )
      .join(''),
  )
  const restore = changingCommand('restore', 'replace the collection with a snapshot', async ({ index }, [name = '']) => {
    const { restoreSnapshot } = await snapshots()
    return `${index.table}: ${counted(await restoreSnapshot(name, index), 'passage')}, restored from ${name}\n`
  })
  const remove = changingCommand('delete', 'remove a snapshot', async ({ index }, [name = '']) => {
    await (await snapshots()).deleteSnapshot(name, index)
    return `${name}: deleted\n`
  })
  const alias = changingCommand('alias', 'serve a copy of another collection', async ({ index }, [name = '']) => {
    const { switchTable } = await import('../../../index/snapshots/replace.ts')
    return `${index.table}: ${counted(await switchTable(name, index), 'passage')}, as in ${name}\n`
  })
  const verifying = 'read the whole collection and verify the checksums of its files'
  const verify = indexingCommand('verify', verifying, async ({ index, readOnly }) => {
    const { verifyIndex } = await snapshots()
    const progress = createProgress('Verifying', 'kB')
    const show = (done: number, total: number) => progress.update(Math.ceil(done / KB), Math.ceil(total / KB))
    const { passages, files, bytes, recorded, unrecorded } = await verifyIndex(index, show, readOnly).finally(() => progress.stop())
    const first = recorded === 0 ? '' : `; the checksums of ${counted(recorded, 'file')} were missing and are recorded now`
    const without = unrecorded === 0 ? '' : `; only read, without a checksum: ${counted(unrecorded, 'file')}; none is recorded here`
    return `${index.table}: ${counted(passages, 'passage')}, ${counted(files, 'file')} as committed (${sizeText(bytes)})${first}${without}\n`
  })
  const snapshot = new Command('snapshot').description('create, list, restore and delete snapshots of a collection').addCommand(list)
  for (const one of [create, restore, remove]) snapshot.addCommand(one.argument('<name>'))
  return { snapshot, verify, alias: alias.argument('<other>') }
}

/** `cepe index report`, `export`, `sources` and `delete`: rejected lines of a job, and the index's content. */
export function contentsCommands() {
  const report = indexingCommand(
    'report',
    'print the rejected lines of a job with reasons, as JSON lines',
    async ({ jobs }, [job = '']) => {
      for await (const line of await jobs.report(job)) if (await print(`${line}\n`)) return
    },
  )
  const exported = 'print all passages as JSON lines, which can be indexed again'
  const exporting = indexingCommand('export', exported, async ({ index }, _, { source }) => {
    if (source !== undefined) await requireSource(index, source)
    for await (const line of exportLines(index.export(source === undefined ? undefined : { source }))) if (await print(line)) return
  })
  const sources = indexingCommand('sources', 'list the sources with their number of passages', async ({ index }) =>
    (await index.sources()).map(({ source, passages }) => `${passages}\t${quoted(source)}\n`).join(''),
  )
  const remove = changingCommand('delete', 'delete all passages from a source', async ({ index }, _, { source = '' }) => {
    await requireSource(index, source)
    return `${counted(await index.delete({ source }), 'passage')} deleted\n`
  })
  return {
    report: report.argument('<job>'),
    exporting: exporting.option('--source <text>', "only passages from this source; '' for those without one", unquoted),
    sources,
    remove: remove.requiredOption('--source <text>', 'as `cepe index sources` shows it', notEmpty),
  }
}

/** An empty source is most likely an unset shell variable; it would match all passages without a source. @throws options_invalid */
function notEmpty(source: string): string {
  if (source !== '') return unquoted(source)
  throw invalidOption('--source', '--source is empty: name the source to delete.')
}

/** @throws not_found for a source without passages, most likely a typing error */
async function requireSource(index: Pick<PassageIndex, 'count' | 'table'>, source: string): Promise<void> {
  if ((await index.count({ source })) > 0) return
  const problem = `There are no passages from ${JSON.stringify(source)} in the collection ${index.table}`
  throw notFound('--source', `${problem}: \`cepe index sources --collection ${index.table}\` lists the sources.`)
}
