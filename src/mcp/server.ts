import { McpServer, type StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import type { TObject } from 'typebox'
import type { ToolContext } from './contract.ts'
import { TOOLS } from './tools.ts'

export { createMcpHandler } from '@modelcontextprotocol/server'

/** Adapts a schema to the SDK, which only shows it to clients as JSON schema: `checked` validates. */
function shownSchema(schema: TObject): StandardSchemaWithJSON<unknown, unknown> {
  const shown = (): Record<string, unknown> => Object.fromEntries(Object.entries(schema))
  return { '~standard': { version: 1, vendor: 'typebox', validate: (value) => ({ value }), jsonSchema: { input: shown, output: shown } } }
}

const INSTRUCTIONS =
  'Question answering over a corpus of passages. answer gives a short answer with the sentences that say so; search finds passages to read; get_passage has one whole; list_sources says what the corpus is made of, and list_collections which other corpora there are. Cite passages by title and source.'

/** Tools read the corpus only. */
const ANNOTATIONS = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false } as const

/** The tools as clients see them, made once, since a server is created for every HTTP request. */
const REGISTRATIONS = TOOLS.map(({ name, title, description, input, output, call }) => ({
  name,
  config: { title, description, inputSchema: shownSchema(input), outputSchema: shownSchema(output), annotations: ANNOTATIONS },
  call,
}))

/** Creates a server of the Model Context Protocol with all tools, for one connection or HTTP request. */
export function createToolServer(version: string, context: ToolContext): McpServer {
  const server = new McpServer({ name: 'cepe-qa', title: 'CEPE question answering', version }, { instructions: INSTRUCTIONS })
  for (const { name, config, call } of REGISTRATIONS)
    server.registerTool(name, config, (given, { mcpReq }) => call(given, context, mcpReq.signal))
  return server
}
