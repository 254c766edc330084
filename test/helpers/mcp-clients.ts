import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from 'mcp-v1/client/index.js'
import { StdioClientTransport as StdioClientTransportV1 } from 'mcp-v1/client/stdio.js'
import { StreamableHTTPClientTransport as StreamableHTTPClientTransportV1 } from 'mcp-v1/client/streamableHttp.js'

/** Where a server is: an address with a key, or a command. */
export type ServerPlace =
  | { readonly url: string; readonly key?: string }
  | { readonly command: string; readonly args: readonly string[]; readonly env: Readonly<Record<string, string>> }

export interface ToolResult {
  readonly content: unknown
  readonly structuredContent?: unknown
  readonly isError?: boolean | undefined
}

/** What a test needs of a client, whichever version of the SDK it is of. */
export interface AgentClient {
  tools(): Promise<readonly { readonly name: string; readonly annotations?: object | undefined }[]>
  call(name: string, args?: Record<string, unknown>): Promise<ToolResult>
  /** Of the protocol that was agreed on. */
  version(): string | undefined
  close(): Promise<void>
}

const SELF = { name: 'test', version: '0.0.0' }

function headersOf({ key }: { readonly key?: string }): Record<string, string> {
  return key === undefined ? {} : { authorization: `Bearer ${key}` }
}

/** The SDK's own clients of its last two major versions; the newer one in both of its manners. Each has listed the tools, so that it checks results. */
export const MCP_CLIENTS: Readonly<Record<string, (place: ServerPlace) => Promise<AgentClient>>> = {
  'version 2': (place) => connected(new Client(SELF, { versionNegotiation: { mode: 'auto' } }), place),
  'version 2, older protocol': (place) => connected(new Client(SELF), place),
  'version 1': async (place) => {
    const client = new ClientV1(SELF)
    const transport =
      'url' in place
        ? new StreamableHTTPClientTransportV1(new URL(place.url), { requestInit: { headers: headersOf(place) } })
        : new StdioClientTransportV1({ command: place.command, args: [...place.args], env: place.env, stderr: 'ignore' })
    await client.connect(transport)
    return agentOf(client, () => ('protocolVersion' in transport ? transport.protocolVersion : undefined))
  },
}

async function connected(client: Client, place: ServerPlace): Promise<AgentClient> {
  const transport =
    'url' in place
      ? new StreamableHTTPClientTransport(new URL(place.url), { requestInit: { headers: headersOf(place) } })
      : new StdioClientTransport({ command: place.command, args: [...place.args], env: place.env, stderr: 'ignore' })
  await client.connect(transport)
  return agentOf(client, () => client.getNegotiatedProtocolVersion())
}

/** The calls that both versions of the SDK share. */
interface ToolClient {
  listTools(): Promise<{ readonly tools: Awaited<ReturnType<AgentClient['tools']>> }>
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<{ readonly [field: string]: unknown }>
  close(): Promise<void>
}

async function agentOf(client: ToolClient, version: () => string | undefined): Promise<AgentClient> {
  await client.listTools()
  return {
    tools: async () => (await client.listTools()).tools,
    call: async (name, args = {}) => {
      const { content, structuredContent, isError } = await client.callTool({ name, arguments: args })
      return { content, structuredContent, isError: isError === true }
    },
    version,
    close: () => client.close(),
  }
}
