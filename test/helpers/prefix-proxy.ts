import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

export interface PrefixProxy {
  /** Where the service is found, without a slash at its end. */
  readonly url: string
  /** Paths that were asked for outside the prefix. */
  readonly strays: readonly string[]
}

/** A proxy that serves the service at a target address under a prefix, and nothing else. Bodies pass as they come. */
export async function prefixProxy(t: Test, { target, prefix, keeps }: { target: string; prefix: string; keeps: boolean }) {
  const strays: string[] = []
  const server = createServer((asked, reply) => {
    const { url = '/', method, headers } = asked
    if (!/^[/?]?$/.test(url.slice(prefix.length, prefix.length + 1)) || !url.startsWith(prefix)) {
      strays.push(url)
      reply.writeHead(404).end()
      return
    }
    const path = keeps ? url : url.slice(prefix.length) || '/'
    const upstream = request(new URL(target), { path, method, headers }, (answer) => {
      reply.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(reply)
    })
    upstream.on('error', () => reply.destroy())
    reply.on('close', () => upstream.destroy())
    asked.pipe(upstream)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`, strays } satisfies PrefixProxy
}
