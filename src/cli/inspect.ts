import { Command } from 'commander'

/** `cepe inspect`: what is in a built model. */
export function inspectCommand(): Command {
  return new Command('inspect')
    .description('show a built model: graphs, parameters, bytes, dimensions')
    .argument('<built>', 'folder of the built model')
    .action(async (built: string) => {
      const { formatDescription, inspectModel } = await import('../../models/inspect.ts')
      process.stdout.write(`${formatDescription(await inspectModel(built))}\n`)
    })
}
