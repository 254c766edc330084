import { Command } from 'commander'

/** `cepe inspect`: what is in a built model or a GGUF file. */
export function inspectCommand(): Command {
  return new Command('inspect')
    .description(
      'show a built model (graphs, parameters, bytes, dimensions) or a GGUF file (metadata, tensor types, whether it can be built)',
    )
    .argument('<model>', 'folder of the built model, or a .gguf file')
    .action(async (model: string) => {
      process.stdout.write(`${await described(model)}\n`)
    })
}

async function described(model: string): Promise<string> {
  if (/\.gguf$/i.test(model)) {
    const { formatGguf, inspectGguf } = await import('../../models/gguf/inspect.ts')
    return formatGguf(await inspectGguf(model))
  }
  const { formatDescription, inspectModel } = await import('../../models/inspect.ts')
  return formatDescription(await inspectModel(model))
}
