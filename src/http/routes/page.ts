import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { packageRoot } from '../../package.ts'
import type { Routes } from './context.ts'

/** Files of the page. An allowlist: the path of a request is never looked up on disk. */
const MODULES =
  'about api ask card collections disclosure document dom events feedback follow gate history job-card jobs manage page passages problem result send-form share source sources spelling times upload views'.split(
    ' ',
  )
const FILES = [
  { url: '/', name: 'index.html', type: 'text/html; charset=utf-8' },
  { url: '/page.css', name: 'page.css', type: 'text/css; charset=utf-8' },
  ...MODULES.map((name) => ({ url: `/${name}.js`, name: `${name}.js`, type: 'text/javascript; charset=utf-8' })),
]

const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cache-control': 'no-cache',
}

/** GET /: the page for asking questions. */
export const pageRoutes: Routes = async (app, { config }) => {
  const { BASE_PATH: basePath, PAGE_TITLE: title, PAGE_ABOUT: about } = config
  const folder = path.join(packageRoot(), 'src/http/page')
  for (const { url, name, type } of FILES) {
    const content = await readFile(path.join(folder, name), 'utf8')
    const sent = content.replaceAll('{{title}}', () => escaped(title)).replaceAll('{{about}}', () => escaped(about))
    app.get(url, { schema: { hide: true }, logLevel: 'warn' }, ({ originalUrl }, reply) => {
      // Relative links of the page need the slash after the base path.
      if (basePath !== '' && originalUrl.split('?')[0] === basePath) return reply.redirect(`${basePath}/`, 308)
      return reply.headers(HEADERS).type(type).send(sent)
    })
  }
}

/** Escapes a text for HTML. */
function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
