#!/usr/bin/env node
import { Command } from 'commander'
import { COMMANDS } from './cli/commands.ts'
import { checkOpenFiles } from '../base/process.ts'
import { runProgram } from './cli/program/run-program.ts'
import { packageVersion } from './package.ts'

const PROGRAMS = new Map([
  ['eval', { what: 'evaluate on open-domain QA datasets and compare runs', executableFile: '../eval/cli.js' }],
  ['calibrate', { what: 'fit the calibration of probability_correct on questions with answers', executableFile: '../eval/calibrate.js' }],
])

const program = new Command('cepe')
  .description('Open-domain question answering over your own corpus with CEPE, Contriever and LanceDB.')
  .version(packageVersion())
  .showHelpAfterError('(see --help)')
for (const [name, { what, ...file }] of PROGRAMS) program.command(name, what, file)

const [, , asked = ''] = process.argv
const own = PROGRAMS.get(asked)
// Help, and the error for an unknown command, list all of them.
if (!own)
  for (const [name, load] of Object.entries(COMMANDS))
    if (!Object.hasOwn(COMMANDS, asked) || name === asked) program.addCommand(await load())

await runProgram(program, own && (() => runHere(own.executableFile)))

/** A process for it would continue after this one was killed. */
async function runHere(file: string): Promise<void> {
  checkOpenFiles()
  process.argv.splice(2, 1)
  await import(file)
}
