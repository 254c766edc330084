import { Command, Option } from 'commander'
import { BLOCK_SIZES, INT4_DEFAULTS, type Int4Options } from '../../models/blocks/precision.ts'
import { DTYPES } from '../../models/dtypes.ts'
import type { Dtype } from '../../models/manifest.ts'
import { megabytes } from '../service/progress.ts'
import { wholeNumber } from './numbers.ts'
import { createProgress } from './progress.ts'

interface BuildArguments {
  readonly out: string
  readonly dtype: Dtype
  readonly blockSize: string
  readonly lmHead: Int4Options['lmHead']
  readonly inPlace?: boolean
  readonly adapter: readonly string[]
  readonly rope?: string
  readonly window?: number
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
      new Option('--block-size <weights>', 'int4: weights that share a scale')
        .choices(BLOCK_SIZES.map(String))
        .default(String(INT4_DEFAULTS.blockSize)),
    )
    .addOption(
      new Option('--lm-head <precision>', 'int4: precision of the output projection')
        .choices(['int8', 'float'])
        .default(INT4_DEFAULTS.lmHead),
    )
    .option('--in-place', "reference the weights in the checkpoint's safetensors files (hard links) where their precision allows")
    .option(
      '--adapter <folder>',
      'LoRA adapter in the layout of PEFT, merged into the matrices; several are merged in their order',
      (folder: string, earlier: readonly string[]) => [...earlier, folder],
      [],
    )
    .option(
      '--rope <kind>',
      "context extension in place of the checkpoint's: none, linear:8, yarn:16, power:0.5, truncated:2048, linear:2+truncated:2048, randomised:0.0625, xpos:8192, xpos-halves:8192, dynamic:2",
    )
    .option('--window <positions>', "decoder positions in place of the checkpoint's", wholeNumber({ min: 1 }))
    .action(async (checkpointDir: string, { out, dtype, blockSize, lmHead, inPlace = false, adapter, rope, window }: BuildArguments) => {
      const [{ buildModel }, { modelId }] = await Promise.all([import('../../models/build.ts'), import('../../models/manifest.ts')])
      const progress = createProgress('Building', 'MB')
      try {
        const manifest = await buildModel({
          checkpointDir,
          adapters: adapter,
          outDir: out,
          dtype,
          int4: { blockSize: blockSize === '128' ? 128 : 32, lmHead },
          inPlace,
          rope: { ...(rope !== undefined && { rope }), ...(window !== undefined && { window }) },
          onProgress: ({ done, total, name }) => progress.update(megabytes(done), megabytes(total), name),
          onWarning: (message) => process.stderr.write(`warning: ${message}\n`),
        })
        process.stdout.write(`${out}: ${modelId(manifest)}, ${(manifest.parameters / 1e6).toFixed(1)} M parameters\n`)
      } finally {
        progress.stop()
      }
    })
}
