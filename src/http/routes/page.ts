import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { packageRoot } from '../../config.ts'
import { needsSlash } from '../request/base-path.ts'

/** Only what the page is made of: no path of a request is ever looked up on the disk. */
const FILES = [
  { url: '/', name: 'index.html', type: 'text/html; charset=utf-8' },
  { url: '/events.js', name: 'events.js', type: 'text/javascript; charset=utf-8' },
  { url: '/page.js', name: 'page.js', type: 'text/javascript; charset=utf-8' },
  { url: '/page.css', name: 'page.css', type: 'text/css; charset=utf-8' },
] as const

const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cache-control': 'no-cache',
}

export interface PageOptions {
  /** Path under which a proxy serves the page. */
  readonly basePath: string
}

/** GET /: a page to ask questions on, made of four files of the package. */
export const pageRoutes: FastifyPluginAsyncTypebox<PageOptions> = async (app, { basePath }) => {
  const folder = path.join(packageRoot(), 'src/http/page')
  for (const { url, name, type } of FILES) {
    const content = await readFile(path.join(folder, name))
    app.get(url, { schema: { hide: true }, logLevel: 'warn' }, (request, reply) =>
      needsSlash(request, basePath) ? reply.redirect(`${basePath}/`, 308) : reply.headers(HEADERS).type(type).send(content),
    )
  }
}
