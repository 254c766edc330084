import { McpServer, type StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import type { TObject } from '#typebox'
import type { Tool, ToolContext } from './contract.ts'
import { answerTool } from './tools/answer.ts'
import { getPassageTool } from './tools/get-passage.ts'
import { listCollectionsTool } from './tools/list-collections.ts'
import { listSourcesTool } from './tools/list-sources.ts'
import { searchTool } from './tools/search.ts'
import { cancelledBy } from '../inference/contract.ts'
import { checked } from '../http/errors/describe-validation.ts'

/** Adapts a schema to the SDK, which only shows it to clients as JSON schema: `checked` validates. */
function shownSchema(schema: TObject): StandardSchemaWithJSON<unknown, unknown> {
  const shown = (): Record<string, unknown> => Object.fromEntries(Object.entries(schema))
  return { '~standard': { version: 1, vendor: 'typebox', validate: (value) => ({ value }), jsonSchema: { input: shown, output: shown } } }
}

const INSTRUCTIONS =
  'Question answering over a corpus of passages. answer gives a short answer with the sentences that say so; search finds passages to read; get_passage has one whole; list_sources says what the corpus is made of, and list_collections which other corpora there are. Cite passages by title and source.'

/** Tools read the corpus only. */
const ANNOTATIONS = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false } as const

type Register = (server: McpServer, context: ToolContext) => void

/** Compiles a tool's schemas once, since a server is created for every HTTP request. */
function registration<Input extends TObject, Output extends TObject>(tool: Tool<Input, Output>): Register {
  const { name, title, description } = tool
  const config = {
    title,
    description,
    inputSchema: shownSchema(tool.input),
    outputSchema: shownSchema(tool.output),
    annotations: ANNOTATIONS,
  }
  // The SDK's validation would put its own text in front of the error's code.
  const inputOf = checked(tool.input, 'value')
  return (server, context) => {
    server.registerTool(name, config, async (given, { mcpReq }) => {
      try {
        const input = inputOf(given)
        const output = await tool.call(input, await context.services(collectionOf(input)), cancelledBy(mcpReq.signal, context.run()))
        return { content: [{ type: 'text', text: tool.text(output) }], structuredContent: { ...output } }
      } catch (error) {
        const { code, message } = context.failed(error)
        return { content: [{ type: 'text', text: `${code}: ${message}` }], isError: true }
      }
    })
  }
}

function collectionOf(input: object): string | undefined {
  return 'collection' in input && typeof input.collection === 'string' ? input.collection : undefined
}

/** All tools, in the order shown to clients. */
const REGISTRATIONS: readonly Register[] = [
  registration(searchTool),
  registration(answerTool),
  registration(getPassageTool),
  registration(listSourcesTool),
  registration(listCollectionsTool),
]

/**
 * Creates a server of the Model Context Protocol with all tools, for one connection or HTTP request.
 * A tool's error is returned as its result (`isError`), with the code of the HTTP API, so that the model can act on it.
 */
export function createToolServer(version: string, context: ToolContext): McpServer {
  const server = new McpServer({ name: 'cepe-qa', title: 'CEPE question answering', version }, { instructions: INSTRUCTIONS })
  for (const register of REGISTRATIONS) register(server, context)
  return server
}
