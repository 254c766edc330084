import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/package.ts'

const ROOT = packageRoot()
/** Folders with installed packages; the variables are set on machines that run these clients' tests. */
const FOLDERS = [ROOT, process.env['TEST_AI_SDK'], process.env['TEST_OPENAPI_TYPESCRIPT']].flatMap((folder) => folder ?? [])
/** Names under which packages are installed, if different. */
const ALIASES: Readonly<Record<string, string>> = { '@modelcontextprotocol/sdk': 'mcp-v1' }

/** The installed or recorded version; undefined if there is neither. */
function versionOf(name: string): string | undefined {
  const recorded = JSON.parse(readFileSync(path.join(ROOT, 'test/fixtures/clients/rerank.json'), 'utf8')) as {
    package: string
    version: string
  }[]
  const manifest = FOLDERS.map((folder) => path.join(folder, 'node_modules', ALIASES[name] ?? name, 'package.json')).find(existsSync)
  if (manifest !== undefined) return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version
  return recorded.find((one) => one.package === name)?.version
}

t.test('the table of clients has the versions that are tested, and each test uses its client', (t) => {
  const document = readFileSync(path.join(ROOT, 'docs/clients.md'), 'utf8')
  const rows = [...document.matchAll(/^\| `([^`]+)`(?: \(\w+\))? \| ([\d.]+) \| .+ \| `([^`]+)` \|$/gm)]
  t.ok(rows.length >= 12)
  let checked = 0
  for (const [, name = '', version, test = ''] of rows) {
    const text = readFileSync(path.join(ROOT, test), 'utf8')
    const helpers = ['test/helpers/mcp-clients.ts', 'test/fixtures/clients/rerank.json'].map((file) =>
      readFileSync(path.join(ROOT, file), 'utf8'),
    )
    t.ok(
      [text, ...helpers].some((one) => one.includes(ALIASES[name] ?? name)),
      `${test} uses ${name}`,
    )
    const known = versionOf(name)
    if (known === undefined) continue
    checked++
    t.equal(version, known, name)
  }
  t.ok(checked >= 6)
  t.end()
})
