import { McpServer } from '@modelcontextprotocol/server'
import type { TObject } from 'typebox'
import { checkedSchema } from './checked-schema.ts'
import type { Tool, ToolContext } from './contract.ts'
import { answerTool } from './tools/answer.ts'
import { getPassageTool } from './tools/get-passage.ts'
import { listSourcesTool } from './tools/list-sources.ts'
import { searchTool } from './tools/search.ts'

const INSTRUCTIONS =
  'Question answering over a corpus of passages. answer gives a short answer with the sentences that say so; search finds passages to read; get_passage has one whole; list_sources says what the corpus is made of. Cite passages by title and source.'

/** Nothing is changed, and nothing outside of the corpus is asked. */
const ANNOTATIONS = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false } as const

type Register = (server: McpServer, context: ToolContext) => void

/** Compiles a tool's schemas once; servers are made for every HTTP request. */
function registration<Input extends TObject, Output extends TObject>(tool: Tool<Input, Output>): Register {
  const { name, title, description } = tool
  const config = {
    title,
    description,
    inputSchema: checkedSchema(tool.input),
    outputSchema: checkedSchema(tool.output),
    annotations: ANNOTATIONS,
  }
  return (server, context) => {
    server.registerTool(name, config, async (input, { mcpReq }) => {
      try {
        const run = context.run()
        const signal = run.signal ? AbortSignal.any([run.signal, mcpReq.signal]) : mcpReq.signal
        const output = await tool.call(input, await context.services(), { ...run, signal })
        return { content: [{ type: 'text', text: tool.text(output) }], structuredContent: { ...output } }
      } catch (error) {
        const { code, message } = context.failed(error)
        return { content: [{ type: 'text', text: `${code}: ${message}` }], isError: true }
      }
    })
  }
}

/** Every tool, in the order in which clients see them. */
const REGISTRATIONS: readonly Register[] = [
  registration(searchTool),
  registration(answerTool),
  registration(getPassageTool),
  registration(listSourcesTool),
]

/**
 * A server of the Model Context Protocol with all tools, for one connection or one HTTP request.
 * Errors of a tool are its result (`isError`), with the code of the HTTP API in front: the model can read what to do about it.
 */
export function createToolServer(version: string, context: ToolContext): McpServer {
  const server = new McpServer({ name: 'cepe-qa', title: 'CEPE question answering', version }, { instructions: INSTRUCTIONS })
  for (const register of REGISTRATIONS) register(server, context)
  return server
}
