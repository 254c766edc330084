import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { packageRoot } from '../../package.ts'
import type { Routes } from './context.ts'

/** Media types of the page's files, by extension; other files of its folder are not served. */
const TYPES: ReadonlyMap<string, string> = new Map([
  ['.html', 'text/html; charset=utf-8'],
  ['.css', 'text/css; charset=utf-8'],
  ['.js', 'text/javascript; charset=utf-8'],
])

const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cache-control': 'no-cache',
}

/** GET /: the page for asking questions. Its files are read at the start: the path of a request is never looked up on disk. */
export const pageRoutes: Routes = async (app, { config }) => {
  const { BASE_PATH: basePath, PAGE_TITLE: title, PAGE_ABOUT: about } = config
  const folder = path.join(packageRoot(), 'src/http/page')
  for (const name of await readdir(folder)) {
    const type = TYPES.get(path.extname(name))
    if (type === undefined) continue
    const url = name === 'index.html' ? '/' : `/${name}`
    const content = await readFile(path.join(folder, name), 'utf8')
    const sent = content.replaceAll('{{title}}', () => escaped(title)).replaceAll('{{about}}', () => escaped(about))
    app.get(url, { schema: { hide: true }, logLevel: 'warn' }, ({ originalUrl }, reply) => {
      // Relative links of the page need the slash after the base path.
      const [address, ...query] = originalUrl.split('?')
      if (basePath !== '' && address === basePath) return reply.redirect([`${basePath}/`, ...query].join('?'), 308)
      return reply.headers(HEADERS).type(type).send(sent)
    })
  }
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
