import { Command, Option } from 'commander'
import { buildModel } from '../../models/build.ts'
import { DTYPES, modelId, type Dtype } from '../../models/manifest.ts'
import { megabytes } from '../progress.ts'
import { createProgress } from './progress.ts'

export const buildCommand = (): Command =>
  new Command('build')
    .description('build ONNX graphs from a checkpoint folder in Hugging Face layout (CEPE, decoder-only LLaMA, Contriever)')
    .argument('<checkpoint>', 'folder with config.json, safetensors or torch .bin weights, and a tokenizer')
    .requiredOption('--out <folder>', 'folder of the built model')
    .addOption(new Option('--dtype <dtype>', 'precision of the graphs').choices(DTYPES).default('f32'))
    .option('--in-place', 'reference the weights in the checkpoint\'s safetensors files (hard links) where their precision allows')
    .action(async (checkpointDir: string, { out, dtype, inPlace = false }: { out: string; dtype: Dtype; inPlace?: boolean }) => {
      const progress = createProgress('Building', 'MB')
      try {
        const manifest = await buildModel({
          checkpointDir,
          outDir: out,
          dtype,
          inPlace,
          onProgress: ({ done, total, name }) => progress.update(megabytes(done), megabytes(total), name),
          onWarning: (message) => process.stderr.write(`warning: ${message}\n`),
        })
        process.stdout.write(`${out}: ${modelId(manifest)}, ${(manifest.parameters / 1e6).toFixed(1)} M parameters\n`)
      } finally {
        progress.stop()
      }
    })
