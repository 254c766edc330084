import { Command } from 'commander'
import path from 'node:path'
import { packageRoot } from '../../src/package.ts'
import { CodedError } from '../../base/errors.ts'

/** `cepe eval all --small`: every task on its small data with the configured model, and one report. */
export function allCommand(): Command {
  return new Command('all')
    .description('every task on its small data, into one report')
    .option('--small', 'the only size there is: large data sets are named one by one')
    .option('--runs <folder>', 'folder of the runs', path.join(packageRoot(), 'eval', 'runs', 'all-small'))
    .option('--out <folder>', 'folder of the report (default: that of the runs)')
    .action(async ({ small, runs, out = runs }: { small?: boolean; runs: string; out?: string }) => {
      if (small !== true)
        throw new CodedError('options_invalid', 'all takes --small: for other sizes name the data of each task (cepe eval lm --help).')
      await (await import('./all-run.ts')).runAll(runs, out)
      process.stderr.write(`Report: ${path.join(out, 'report.md')} and report.html\n`)
    })
}
