import path from 'node:path'
import { Command } from 'commander'
import { CodedError } from '../../base/errors.ts'
import { packageRoot } from '../package.ts'
import { buildDistance, DEFAULT_SAMPLES, type DistanceTexts } from './build-distance.ts'
import { decimal, wholeNumber } from './program/options.ts'

/** Guaranteed parity of f32 builds. */
const DEFAULT_ATOL = 2e-4

interface VerifyOptions extends DistanceTexts {
  readonly golden?: readonly string[]
  readonly atol: number
  readonly against?: string
}

/** `cepe verify`: compares a built model with recorded outputs, or with another build. */
export function verifyCommand(): Command {
  return new Command('verify')
    .description('compare a built model with recorded outputs of the reference implementation, or with another build of its checkpoint')
    .argument('<built>', 'folder of the built model')
    .option('--golden <files...>', 'safetensors files with inputs and expected outputs')
    .option('--atol <number>', 'golden: largest absolute difference allowed', decimal(), DEFAULT_ATOL)
    .option('--against <built>', 'compare the results with those of another build, such as f32')
    .option('--texts <file>', 'against: text to compare on, one passage per line', path.join(packageRoot(), 'index/corpus/passages.tsv'))
    .option('--samples <number>', 'against: groups of lines to compare', wholeNumber({ min: 1 }), DEFAULT_SAMPLES)
    .action(async (built: string, options: VerifyOptions) => {
      if (options.golden === undefined && options.against === undefined) {
        throw new CodedError('options_invalid', 'Nothing to compare with: give --golden <files> or --against <built>.', {
          field: '--golden',
        })
      }
      if (options.golden) await againstGoldens(built, options.golden, options.atol)
      if (options.against) process.stdout.write(`${await buildDistance(built, options.against, options)}\n`)
    })
}

async function againstGoldens(built: string, golden: readonly string[], atol: number): Promise<void> {
  const [{ verifyGolden }, { formatVerification }] = await Promise.all([import('../../models/verify.ts'), import('../../models/golden.ts')])
  const results = await verifyGolden(built, golden, atol)
  process.stdout.write(`${results.map(formatVerification).join('\n\n')}\n`)
  if (!results.every((result) => result.ok)) process.exitCode = 1
}
