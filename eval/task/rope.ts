import { Command } from 'commander'
import path from 'node:path'
import { packageRoot } from '../../src/package.ts'
import type { RopeOptions } from './rope-run.ts'

const KINDS = 'none,linear:4,yarn:4,power:0.5,truncated:512,linear:2+truncated:512,randomised:0.25,dynamic:2,xpos:8192,xpos-halves:8192'

/** `cepe eval rope`: one decoder under several rotary bases, by length (Giraffe's comparison in small). */
export function ropeCommand(): Command {
  return new Command('rope')
    .description('build the reader with several --rope kinds and compare perplexity and lines accuracy by length')
    .option('--kinds <list>', 'kinds as cepe build --rope takes them', KINDS)
    .option('--window <positions>', 'window of the built models', '2048')
    .option('--runs <folder>', 'folder of models and runs', path.join(packageRoot(), 'eval', 'runs', 'rope'))
    .option('--out <folder>', 'folder of the report (default: that of the runs)')
    .action(async (options: RopeOptions) => (await import('./rope-run.ts')).runRope(options))
}
