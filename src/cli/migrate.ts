import { Command, Option } from 'commander'
import { loadConfig, loadWritingConfig } from './program/run-program.ts'
import { wholeNumber, collectionOption } from './program/options.ts'
import { print, say } from './program/shown.ts'

/** `cepe migrate`: migrates a table to the current schema, or restores an earlier version. */
export function migrateCommand(): Command {
  return new Command('migrate')
    .description("migrate the index to this version's schema, or restore an earlier version, without downtime")
    .addOption(new Option('--dry-run', 'print what would be done and exit').conflicts('restore'))
    .option('--restore <version>', 'restore a version named by a migration; rows written since are lost', wholeNumber({ min: 1 }))
    .addOption(collectionOption())
    .action(async ({ dryRun = false, restore, collection: name }: { dryRun?: boolean; restore?: number; collection?: string }) => {
      const { INDEX_DIR: dir, TABLE: table } = await (dryRun ? loadConfig : loadWritingConfig)({ TABLE: name })
      const { migrateIndex, restoreIndex } = await import('../../index/versions/migrate-index.ts')
      if (restore !== undefined) {
        await restoreIndex({ dir, table, version: restore })
        await print(`collection ${table} is as it was in version ${restore}\n`)
        return
      }
      const { from, to, migrations, restoreTo } = await migrateIndex({
        dir,
        table,
        dryRun,
        onWarning: (message) => say(`warning: ${message}`),
      })
      if (migrations.length === 0) await print(`collection ${table} has schema version ${to}; nothing to do\n`)
      else
        await print(
          `collection ${table}: schema version ${from} -> ${to}${dryRun ? ' (dry run)' : ''}\n${migrations.map((migration) => `  ${migration}\n`).join('')}to undo: cepe migrate --restore ${restoreTo}\n`,
        )
    })
}
