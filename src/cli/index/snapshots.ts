import { Command } from 'commander'
import type { PassageIndex } from '../../../index/open.ts'
import { collectionOption } from '../program/options.ts'
import { withIndexing } from './jobs.ts'

const KB = 1000

const snapshots = () => import('../../../index/snapshots/snapshots.ts')

/** `cepe index snapshot`, `cepe index verify` and `cepe index alias`. */
export function snapshotCommands(): Command[] {
  const command = (name: string, description: string, run: (index: PassageIndex, name: string) => Promise<string>): Command =>
    new Command(name)
      .description(description)
      .addOption(collectionOption())
      .action(async (...given: unknown[]) => {
        const [options, name] = typeof given[0] === 'string' ? [given[1], given[0]] : [given[0], '']
        await withIndexing((options as { collection?: string }).collection, 'looks', async ({ index }) => {
          process.stdout.write(await run(index, name))
        })
      })
  const create = command('create', 'create a snapshot of the collection', async (index, name) => {
    const { createSnapshot } = await snapshots()
    const { rows } = await createSnapshot(name, index)
    return `${name}: snapshot of ${rows} passages created\n`
  })
  const list = command('list', 'list the snapshots of the collection', async (index) =>
    (await (await snapshots()).listSnapshots(index))
      .map(
        ({ name, created_at, rows, bytes, model }) =>
          `${name}\t${created_at}\t${rows} passages\t${Math.round(bytes / KB)} kB freed if deleted\t${model}\n`,
      )
      .join(''),
  )
  const restore = command('restore', 'replace the collection with a snapshot', async (index, name) => {
    const { restoreSnapshot } = await snapshots()
    return `${index.table}: ${await restoreSnapshot(name, index)} passages, restored from ${name}\n`
  })
  const remove = command('delete', 'remove a snapshot', async (index, name) => {
    const { deleteSnapshot } = await snapshots()
    await deleteSnapshot(name, index)
    return `${name}: deleted\n`
  })
  const alias = command('alias', 'serve a copy of another collection', async (index, name) => {
    const { switchTable } = await import('../../../index/snapshots/replace.ts')
    return `${index.table}: ${await switchTable(name, index)} passages, as in ${name}\n`
  })
  const verify = command('verify', 'read the whole collection and verify the checksums of its files', async (index) => {
    const [{ verifyIndex }, { createProgress }] = await Promise.all([
      import('../../../index/snapshots/verify-index.ts'),
      import('../program/progress.ts'),
    ])
    const progress = createProgress('Verifying', 'kB')
    const show = (done: number, total: number) => progress.update(Math.ceil(done / KB), Math.ceil(total / KB))
    const { passages, files, bytes, recorded } = await verifyIndex(index, show).finally(() => progress.stop())
    const first = recorded === 0 ? '' : `; ${recorded} files had no checksum and have one now`
    return `${index.table}: ${passages} passages, ${files} files as they were committed (${Math.round(bytes / KB)} kB)${first}\n`
  })
  const snapshot = new Command('snapshot').description('create, list, restore and delete snapshots of a collection').addCommand(list)
  for (const one of [create, restore, remove]) snapshot.addCommand(one.argument('<name>'))
  return [snapshot, verify, alias.argument('<other>')]
}
