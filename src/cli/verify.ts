import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { Command } from 'commander'
import { CodedError } from '../../base/errors.ts'
import type { Sample } from '../../models/against.ts'
import { packageRoot } from '../package.ts'
import { decimal, wholeNumber } from './numbers.ts'

/** Parity promised for f32 builds. */
const DEFAULT_ATOL = 2e-4
const DEFAULT_SAMPLES = 16
/** Lines that the encoder reads in each comparison; the decoder reads one more. */
const CONTEXTS = 8
const MOST_TOKENS = 128

interface VerifyOptions {
  readonly golden?: readonly string[]
  readonly atol: number
  readonly against?: string
  readonly texts: string
  readonly samples: number
}

/** `cepe verify`: a built model beside recorded outputs, or beside another build. */
export function verifyCommand(): Command {
  return new Command('verify')
    .description('compare a built model with recorded outputs of the reference implementation, or with another build of its checkpoint')
    .argument('<built>', 'folder of the built model')
    .option('--golden <files...>', 'safetensors files with inputs and expected outputs')
    .option('--atol <number>', 'golden: largest absolute difference allowed', decimal(), DEFAULT_ATOL)
    .option('--against <built>', 'another build, such as the f32 one: how far the results are from its own')
    .option('--texts <file>', 'against: text that both read, a passage a line', path.join(packageRoot(), 'index/corpus/passages.tsv'))
    .option('--samples <number>', 'against: groups of lines that are read', wholeNumber({ min: 1 }), DEFAULT_SAMPLES)
    .action(async (built: string, options: VerifyOptions) => {
      if (options.golden === undefined && options.against === undefined) {
        throw new CodedError('options_invalid', 'Nothing to compare with: give --golden <files> or --against <built>.', {
          field: '--golden',
        })
      }
      if (options.golden) await againstGoldens(built, options.golden, options.atol)
      if (options.against) await againstBuild(built, options.against, options)
    })
}

async function againstGoldens(built: string, golden: readonly string[], atol: number): Promise<void> {
  const [{ verifyGolden }, { formatVerification }] = await Promise.all([import('../../models/verify.ts'), import('../../models/golden.ts')])
  const results = await verifyGolden(built, golden, atol)
  process.stdout.write(`${results.map(formatVerification).join('\n\n')}\n`)
  if (!results.every((result) => result.ok)) process.exitCode = 1
}

async function againstBuild(built: string, other: string, { texts, samples }: VerifyOptions): Promise<void> {
  const { compareBuilds, formatDistance } = await import('../../models/against.ts')
  process.stdout.write(`${formatDistance(await compareBuilds(built, other, await samplesOf(built, texts, samples)))}\n`)
}

/** Groups of lines from all over the file. */
async function samplesOf(built: string, file: string, count: number): Promise<Sample[]> {
  const [{ loadManifest }, { loadTokenizer }] = await Promise.all([import('../../models/folder.ts'), import('../text/tokenizer.ts')])
  const manifest = await loadManifest(built)
  const special =
    manifest.architecture === 'cepe' ? { bosId: manifest.tokens.bos_id, eosIds: manifest.tokens.eos_ids } : { bosId: null, eosIds: [] }
  const tokenizer = await loadTokenizer(built, special)
  const content = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new CodedError('options_invalid', `The texts of --texts cannot be read (${file}).`, { field: '--texts', cause })
  })
  const lines = content.split('\n').filter((line) => line.trim() !== '')
  const step = Math.max(Math.floor(lines.length / count), 1)
  const ids = (line: string): number[] => tokenizer.encode(line.replace(/^[^\t]*\t/, ''), { maxTokens: MOST_TOKENS })
  return Array.from({ length: Math.min(count, Math.ceil(lines.length / step)) }, (_, i) => lines.slice(i * step, i * step + CONTEXTS + 1))
    .map((group) => ({ contexts: group.slice(0, -1).map(ids), prompt: ids(group.at(-1) ?? '') }))
    .filter(({ contexts, prompt }) => prompt.length > 0 && contexts.every((context) => context.length > 0))
}
