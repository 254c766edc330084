import { Command } from 'commander'

/** `cepe mcp`: tools for an agent host on the same machine, without a server. */
export function mcpCommand(): Command {
  return new Command('mcp')
    .description('serve tools for agents over standard input and output (Model Context Protocol); started by the agent host')
    .action(async () => {
      const { runMcp } = await import('./run-mcp.ts')
      await runMcp()
    })
}
