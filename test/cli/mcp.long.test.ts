import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { CLI, finished, startNode } from '../helpers/processes.ts'
import { processesWith } from '../helpers/cli.ts'
import { MCP_CLIENTS } from '../helpers/mcp-clients.ts'
import { tinyService, tinyShared } from '../helpers/service-settings.ts'
import { tempDir } from '../index/helpers.ts'

/** Small, so that the first call does not wait long for the index. */
const PASSAGES = `id\ttext\ttitle
1\tCanberra is the capital of Australia. It lies between Sydney and Melbourne.\tCanberra
2\tAustralia is governed from Canberra, its capital. English is spoken there.\tAustralia
3\tThe Orinoco rises in the Parima Mountains and empties into the Atlantic Ocean.\tOrinoco
`

/** The tiny models over that corpus, made at the first start. */
const dir = t.testdir({ 'passages.tsv': PASSAGES })
const env = { ...tinyShared(dir), CEPE_CORPUS: path.join(dir, 'passages.tsv'), PATH: '/usr/bin:/bin' }

// One after the other: the first one makes what all of them use.
for (const [name, connect] of Object.entries(MCP_CLIENTS))
  await t.test(`cepe mcp answers a client of ${name} over standard input and output`, async (t) => {
    const marker = `cepe-mcp-test-${process.pid}-${name.replaceAll(/\W/g, '-')}`
    const client = await connect({ command: process.execPath, args: [CLI, 'mcp'], env: { ...env, MARKER: marker } })
    t.match(
      (await client.tools()).map((tool) => tool.name),
      ['search', 'answer', 'get_passage', 'list_sources', 'list_collections'],
      'before the models are loaded',
    )
    const found = await client.call('search', { query: 'capital of australia', k: 3 })
    t.match(found, { isError: false, structuredContent: { passages: [{ id: String, text: /Australia/ }, {}, {}] } })
    t.match(await client.call('answer', { question: 'what is the capital of australia' }), {
      isError: false,
      structuredContent: { answer: String, evidence: [{ id: String, quote: String }] },
    })
    t.match(await client.call('list_sources'), { structuredContent: { total: 1 } })
    t.match(await client.call('get_passage', { id: 'none' }), { isError: true, content: [{ text: /^not_found: / }] })
    await client.close()
    for (let i = 0; i < 200 && (await processesWith(marker)).length > 0; i++) await sleep(50)
    t.same(await processesWith(marker), [], 'it ends with its host, and so do its own processes')
  })

await t.test('what keeps it from starting is one line on standard error', async (t) => {
  const own = tinyService(await tempDir(t))
  // The host holds the input open, and learns from the end of the process that there is no server.
  const start = (settings: Record<string, string>) => finished(startNode(CLI, ['mcp'], { env: { ...own, ...settings }, stdio: 'pipe' }))
  const missing = await start({ CEPE_READER_CHECKPOINT: '/none', CEPE_READER_DIR: '/none' })
  t.match(missing, { code: 1, stdout: '', stderr: /^cepe: There is no built model at [^\n]*\n$/m })
  t.match(await start({ CEPE_ROLE: 'indexer' }), { code: 1, stdout: '', stderr: /^cepe: CEPE_ROLE is indexer[^\n]*\n$/ })
})
