import { existsSync } from 'node:fs'
import path from 'node:path'
import { Command } from 'commander'
import { CodedError } from '../../base/errors.ts'

/** `cepe inspect`: describes a built model or a checkpoint. */
export function inspectCommand(): Command {
  return new Command('inspect')
    .description(
      'show a built model (graphs, parameters, bytes, dimensions) or a checkpoint (dimensions, tensor types, whether it can be built)',
    )
    .argument('<model>', 'folder of a built model or a checkpoint, or a .gguf file')
    .action(async (model: string) => {
      process.stdout.write(`${await described(model)}\n`)
    })
}

async function described(model: string): Promise<string> {
  if (/\.gguf$/i.test(model)) {
    const { formatGguf, inspectGguf } = await import('../../models/gguf/inspect.ts')
    return formatGguf(await inspectGguf(model))
  }
  if (existsSync(path.join(model, 'config.json')) && !existsSync(path.join(model, 'manifest.json'))) {
    const { formatCheckpoint, inspectCheckpoint } = await import('../../models/checkpoint/inspect.ts')
    return formatCheckpoint(await inspectCheckpoint(model))
  }
  if (!existsSync(path.join(model, 'manifest.json')))
    throw new CodedError(
      'not_found',
      existsSync(model)
        ? `${model} holds no model: neither manifest.json of a built one nor config.json of a checkpoint.`
        : `There is no folder ${model}: name that of a built model or a checkpoint, or a .gguf file.`,
      { field: 'model' },
    )
  const { formatDescription, inspectModel } = await import('../../models/inspect.ts')
  return formatDescription(await inspectModel(model))
}
