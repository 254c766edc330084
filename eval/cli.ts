import { runProgram } from '../src/cli/program/run-program.ts'
import { evalProgram } from './commands/program.ts'

await runProgram(evalProgram())
