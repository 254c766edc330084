#!/usr/bin/env node
import { Command } from 'commander'
import { COMMANDS } from './cli/commands.ts'
import { checkOpenFiles } from '../base/process.ts'
import { runProgram } from './cli/program/run-program.ts'
import { packageVersion } from './package.ts'

/** Commands of eval/. */
const PROGRAMS = {
  eval: 'evaluate on open-domain QA datasets and compare runs',
  calibrate: 'fit the calibration of probability_correct on questions with answers',
} as const

const program = new Command('cepe')
  .description('Open-domain question answering over your own corpus with CEPE, Contriever and LanceDB.')
  .version(packageVersion())
  .showHelpAfterError('(see --help)')
for (const [name, what] of Object.entries(PROGRAMS)) program.command(name, what, { executableFile: `../eval/${name}.js` })

const [, , asked = ''] = process.argv
const isOfEval = Object.hasOwn(PROGRAMS, asked)
// Help, and the error for an unknown command, list all of them.
if (!isOfEval)
  for (const [name, load] of Object.entries(COMMANDS))
    if (!Object.hasOwn(COMMANDS, asked) || name === asked) program.addCommand(await load())

await runProgram(program, isOfEval ? runHere : undefined)

/** A process for it would continue after this one was killed. */
async function runHere(): Promise<void> {
  checkOpenFiles()
  process.argv.splice(2, 1)
  await import(`../eval/${asked}.js`)
}
