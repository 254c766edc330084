import path from 'node:path'
import { Command } from 'commander'
import { existsSync } from 'node:fs'
import { temporaryFolder } from '../../base/files.ts'
import { invalidOption, notFound } from '../../base/errors.ts'
import { readRegular } from '../../base/exists.ts'
import type { Sample } from '../inference/worker/tasks/verify.ts'
import { packageRoot } from '../package.ts'
import { decimal, wholeNumber } from './program/options.ts'
import { print } from './program/shown.ts'

/** Lines for the encoder per comparison; the decoder reads one more. */
const CONTEXTS = 8
const MOST_TOKENS = 128
const DEFAULT_SAMPLES = 16

/** How far two builds of a checkpoint are apart on lines of a text. @throws those of compareBuilds; options_invalid for unreadable texts */
async function buildDistance(built: string, other: string, texts: string, samples = DEFAULT_SAMPLES): Promise<string> {
  const { compareBuilds, formatDistance } = await import('../inference/worker/tasks/verify.ts')
  return formatDistance(await compareBuilds(built, other, await samplesOf(built, texts, samples)))
}

/**
 * How far a build is from the same checkpoint in f32, which is built beside it for the comparison and removed.
 * @param buildF32 builds into the folder that it is given
 * @throws those of buildF32 and buildDistance
 */
export async function distanceFromF32(built: string, texts: string, buildF32: (folder: string) => Promise<unknown>): Promise<string> {
  await using folder = await temporaryFolder(await (await import('../../models/staging.ts')).stagingPrefix(built))
  const f32 = path.join(folder.path, 'f32')
  await buildF32(f32)
  return await buildDistance(built, f32, texts)
}

/** The lines of a text. @throws options_invalid where it has none that can be read: said before a build that takes minutes */
export async function readTexts(file: string): Promise<string[]> {
  try {
    const lines = new TextDecoder('utf-8', { fatal: true }).decode(await readRegular(file)).split('\n')
    const texts = lines.filter((line) => line.trim() !== '')
    if (texts.length > 0) return texts
    throw new Error('no line has text')
  } catch (cause) {
    const message = `The texts of --texts cannot be read (${file}): name a text file in UTF-8, with one passage per line.`
    throw invalidOption('--texts', message, cause)
  }
}

async function samplesOf(built: string, file: string, count: number): Promise<Sample[]> {
  const [{ loadManifest }, { loadTokenizer }] = await Promise.all([import('../../models/folder.ts'), import('../text/tokenizer.ts')])
  const manifest = await loadManifest(built)
  const tokenizer = await (manifest.architecture === 'cepe' ? loadTokenizer(built, manifest.tokens) : loadTokenizer(built))
  const lines = await readTexts(file)
  const stride = Math.max(Math.floor(lines.length / count), 1)
  const ids = (line: string): number[] => tokenizer.encode(line.replace(/^[^\t]*\t/, ''), { maxTokens: MOST_TOKENS })
  return Array.from({ length: Math.min(count, Math.ceil(lines.length / stride)) }, (_, i) =>
    lines.slice(i * stride, i * stride + CONTEXTS + 1),
  )
    .map((group) => ({ contexts: group.slice(0, -1).map(ids), prompt: ids(group.at(-1) ?? '') }))
    .filter(({ contexts, prompt }) => prompt.length > 0 && contexts.every((context) => context.length > 0))
}

/** `cepe inspect`: describes a built model or a checkpoint. */
export function inspectCommand(): Command {
  return new Command('inspect')
    .description(
      'show a built model (graphs, parameters, bytes, dimensions) or a checkpoint (dimensions, tensor types, whether it can be built)',
    )
    .argument('<model>', 'folder of a built model or a checkpoint, or a .gguf file')
    .action(async (model: string) => {
      await print(`${await described(model)}\n`)
    })
}

async function described(model: string): Promise<string> {
  const { inspectCheckpoint, inspectGguf, inspectModel } = await import('../../models/inspect.ts')
  if (/\.gguf$/i.test(model)) return inspectGguf(model)
  await (await import('../../models/staging.ts')).recoverFolder(model)
  if (existsSync(path.join(model, 'manifest.json'))) return inspectModel(model)
  if (existsSync(path.join(model, 'config.json'))) return inspectCheckpoint(model)
  if (existsSync(model))
    throw notFound('model', `${model} holds no model: neither manifest.json of a built one nor config.json of a checkpoint.`)
  throw notFound('model', `There is no folder ${model}: name that of a built model or a checkpoint, or a .gguf file.`)
}

/** Guaranteed parity of f32 builds. */
const DEFAULT_ATOL = 2e-4

interface VerifyOptions {
  readonly golden?: readonly string[]
  readonly atol: number
  readonly against?: string
  readonly texts: string
  readonly samples: number
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
    .action(async (built: string, options: VerifyOptions, command: Command) => {
      const { golden, atol, against, texts, samples } = options
      if (golden === undefined && against === undefined)
        throw invalidOption('--golden', 'Nothing to compare with: give --golden <files> or --against <built>.')
      const unread = [...(golden ? [] : ['atol']), ...(against === undefined ? ['texts', 'samples'] : [])]
      const given = unread.find((name) => command.getOptionValueSource(name) === 'cli')
      if (given !== undefined)
        throw invalidOption(`--${given}`, `--${given} goes with --${given === 'atol' ? 'golden' : 'against'}: give both.`)
      if (golden) await againstGoldens(built, golden, atol)
      if (against !== undefined) await print(`${await buildDistance(built, against, texts, samples)}\n`)
    })
}

async function againstGoldens(built: string, golden: readonly string[], atol: number): Promise<void> {
  const [{ verifyGolden }, { formatVerification }] = await Promise.all([
    import('../inference/worker/tasks/verify.ts'),
    import('../../models/golden.ts'),
  ])
  const results = await verifyGolden(built, golden, atol)
  await print(`${results.map(formatVerification).join('\n\n')}\n`)
  if (!results.every((result) => result.ok)) process.exitCode = 1
}
