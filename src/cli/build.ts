import { Command, Option } from 'commander'
import { BLOCK_SIZES, INT4_DEFAULTS, type Int4Options } from '../../models/blocks/precision.ts'
import { DTYPES } from '../../models/dtypes.ts'
import type { BuildOptions } from '../../models/build.ts'
import type { Dtype, ModelManifest } from '../../models/manifest.ts'
import { megabytes } from '../service/follow-job.ts'
import { interruptible } from './program/interrupted.ts'
import { wholeNumber } from './program/options.ts'
import { invalidOption } from '../../base/errors.ts'
import { createProgress } from './program/progress.ts'
import { print, say } from './program/shown.ts'

interface BuildArguments {
  readonly out: string
  readonly dtype: Dtype
  readonly blockSize: string
  readonly lmHead: Int4Options['lmHead']
  readonly inPlace?: boolean
  readonly adapter: readonly string[]
  readonly rope?: string
  readonly window?: number
  readonly texts?: string
}

/** `cepe build`: graphs from a checkpoint. */
export function buildCommand(): Command {
  return new Command('build')
    .description(
      'build ONNX graphs from a checkpoint: a folder in Hugging Face layout (CEPE, LLaMA, Qwen, Gemma, BERT retrievers and cross-encoders) or a GGUF file',
    )
    .argument('<checkpoint>', 'folder with config.json, safetensors or torch .bin weights, and a tokenizer; or a .gguf file')
    .requiredOption('--out <folder>', 'folder of the built model')
    .addOption(new Option('--dtype <dtype>', 'precision of the graphs').choices(DTYPES).default('f32'))
    .addOption(
      new Option('--block-size <weights>', 'with int4: weights per scale')
        .choices(BLOCK_SIZES.map(String))
        .default(String(INT4_DEFAULTS.blockSize)),
    )
    .addOption(new Option('--lm-head <precision>', 'quantised: output projection').choices(['int8', 'float']).default(INT4_DEFAULTS.lmHead))
    .option('--in-place', "reference weights in the checkpoint's safetensors files by hard links, if their precision matches")
    .option(
      '--adapter <folder>',
      'LoRA adapter in PEFT format to merge; repeat to merge several in order',
      (folder: string, earlier: readonly string[]) => [...earlier, folder],
      [],
    )
    .option(
      '--rope <kind>',
      "context extension in place of the checkpoint's: none, linear:8, yarn:16, power:0.5, truncated:2048, linear:2+truncated:2048, randomised:0.0625, xpos:8192, xpos-halves:8192, dynamic:2",
    )
    .option('--window <positions>', "decoder positions in place of the checkpoint's", wholeNumber({ min: 1 }))
    .option('--texts <file>', 'measure the loss of the precision on this text (one passage per line), against a temporary f32 build')
    .action(build)
}

async function build(checkpointDir: string, given: BuildArguments): Promise<void> {
  const { out, dtype, blockSize, lmHead, inPlace = false, adapter, rope, window, texts } = given
  if (blockSize !== String(INT4_DEFAULTS.blockSize) && !dtype.includes('int4'))
    throw invalidOption('--block-size', '--block-size is of matrices in 4 bits: choose a --dtype with int4, or omit it.')
  if (lmHead !== INT4_DEFAULTS.lmHead && ['f32', 'f16'].includes(dtype))
    throw invalidOption('--lm-head', '--lm-head is of quantised builds: choose another --dtype, or omit it.')
  if (texts !== undefined) {
    if (dtype === 'f32') throw invalidOption('--texts', '--texts compares a precision with f32: choose another --dtype, or omit --texts.')
    await (await import('./verify.ts')).readTexts(texts)
  }
  const { modelId } = await import('../../models/manifest.ts')
  const checkpoint = { checkpointDir, adapters: adapter, rope: { rope, window } }
  const manifest = await withProgress('Building', {
    ...checkpoint,
    outDir: out,
    dtype,
    int4: { blockSize: blockSize === '128' ? 128 : 32, lmHead },
    inPlace,
    onWarning: (message) => say(`warning: ${message}`),
  })
  await print(`${out}: ${modelId(manifest)}, ${(manifest.parameters / 1e6).toFixed(1)} M parameters\n`)
  if (texts === undefined) return
  const { distanceFromF32 } = await import('./verify.ts')
  const distance = await interruptible(
    (signal) => distanceFromF32(out, texts, (outDir) => withProgress('Building in f32', { ...checkpoint, outDir, dtype: 'f32', signal })),
    () => `${out} is built; what it costs was not measured.`,
  )
  await print(`against f32: ${distance}\n`)
}

async function withProgress(what: string, options: BuildOptions): Promise<ModelManifest> {
  const { buildModel } = await import('../../models/build.ts')
  const progress = createProgress(what, 'MB')
  const onProgress: BuildOptions['onProgress'] = ({ done, total, name }) => progress.update(megabytes(done), megabytes(total), name)
  return buildModel({ ...options, onProgress }).finally(() => progress.stop())
}
