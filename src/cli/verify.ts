import { Command } from 'commander'
import { formatVerification } from '../../models/golden.ts'
import { verifyGolden } from '../../models/verify.ts'
import { decimal } from './numbers.ts'

/** Parity promised for f32 builds. */
const DEFAULT_ATOL = 2e-4

export function verifyCommand(): Command {
  return new Command('verify')
    .description('compare a built model with recorded outputs of the reference implementation')
    .argument('<built>', 'folder of the built model')
    .requiredOption('--golden <files...>', 'safetensors files with inputs and expected outputs')
    .option('--atol <number>', 'largest absolute difference allowed', decimal(), DEFAULT_ATOL)
    .action(async (built: string, { golden, atol }: { golden: string[]; atol: number }) => {
      const results = await verifyGolden(built, golden, atol)
      process.stdout.write(`${results.map(formatVerification).join('\n\n')}\n`)
      if (!results.every((result) => result.ok)) process.exitCode = 1
    })
}
