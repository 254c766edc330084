import { Command } from 'commander'
import { loadConfig } from './load-config.ts'
import { wholeNumber } from './numbers.ts'
import { tableOption } from './table-option.ts'

interface MigrateArguments {
  readonly dryRun?: boolean
  readonly restore?: number
  readonly table?: string
}

/** `cepe migrate`: brings a table to the current schema, or back. */
export function migrateCommand(): Command {
  return new Command('migrate')
    .description("bring the index to this version's schema, or back; questions are answered meanwhile")
    .option('--dry-run', 'only say what would be done')
    .option(
      '--restore <version>',
      'go back to a version that a migration named; rows written since leave the table',
      wholeNumber({ min: 1 }),
    )
    .addOption(tableOption())
    .action(async ({ dryRun = false, restore, table: name }: MigrateArguments) => {
      const { INDEX_DIR: dir, TABLE: table } = await loadConfig({ TABLE: name })
      const { migrateIndex, restoreIndex } = await import('../../index/table/migrate-index.ts')
      if (restore !== undefined) {
        await restoreIndex({ dir, table, version: restore })
        process.stdout.write(`table ${table} is as it was in version ${restore}\n`)
        return
      }
      const { from, to, steps, restoreTo } = await migrateIndex({
        dir,
        table,
        dryRun,
        onWarning: (message) => process.stderr.write(`warning: ${message}\n`),
      })
      if (steps.length === 0) process.stdout.write(`table ${table} has schema version ${to}; nothing to do\n`)
      else
        process.stdout.write(
          `table ${table}: schema version ${from} -> ${to}${dryRun ? ' (dry run)' : ''}\n${steps.map((step) => `  ${step}\n`).join('')}way back: cepe migrate --restore ${restoreTo}\n`,
        )
    })
}
