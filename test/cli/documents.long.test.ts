import { copyFile, cp, mkdir, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { pageOf, sitemapOf, webSite } from '../fixtures/web-site.ts'
import { runCli } from '../helpers/cli.ts'
import { finished, startNode } from '../helpers/processes.ts'
import { root } from '../helpers/root.ts'
import { tinyShared } from '../helpers/service-settings.ts'
import { tempDir } from '../index/helpers.ts'

await t.test('a folder of documents and tables, from the command line to an answer with its file', async (t) => {
  const dir = await tempDir(t)
  const env = tinyShared(dir)
  const docs = path.join(dir, 'docs')
  await mkdir(path.join(docs, 'manuals'), { recursive: true })
  for (const kind of ['md', 'pdf', 'docx', 'epub'])
    await copyFile(`test/fixtures/documents/handbook.${kind}`, path.join(docs, `handbook.${kind}`))
  await copyFile('test/fixtures/documents/reference.html', path.join(docs, 'manuals', 'reference.html'))
  await copyFile('test/fixtures/documents/encrypted.pdf', path.join(docs, 'manuals', 'secret.pdf'))
  await writeFile(path.join(docs, 'ports.tsv'), 'id\ttext\ttitle\n1\tThe port lies on the southern shore.\tPort\n')
  await writeFile(path.join(docs, 'dues.bin'), 'PK\u0003\u0004')
  await writeFile(path.join(docs, 'package.json'), '{"name":"docs"}')
  await writeFile(path.join(docs, 'manuals', 'fees.bin'), 'PK\u0003\u0004')
  const index = (...args: string[]) => runCli(['index', ...args], env)
  const summary = '6 files %; 4 left out: 2 .bin (not supported), 1 encrypted PDF, 1 .json (not supported)'

  const checked = await index('add', docs, '--check')
  t.equal(checked.code, 0, checked.stderr)
  t.match(checked.stdout, /manuals\/secret\.pdf: encrypted: .*without a password\./)
  t.ok(checked.stdout.endsWith(`${summary.replace('%', 'fit to index')}\n`), checked.stdout)
  t.match((await index('status')).stdout, /There is no collection/, 'checking writes nothing')

  t.match(await index('add', docs, '--strict', '--check'), { code: 1, stdout: /docs: .*a job would fail\n/ })
  t.match(await index('add', docs, '--replace'), { code: 1, stderr: /--replace takes one file/ })
  t.match(await index('add', path.join(docs, 'manuals'), '--strict'), { code: 1, stderr: /2 of 3 files were left out/ })

  const added = await index('add', docs)
  t.equal(added.code, 0, added.stderr)
  t.match(added.stdout, /done {2}ports\.tsv {2}1\/1 committed.*\n.* done {2}docs {2}21\/21 committed.*5 files indexed; 3 left out/)
  t.ok(added.stdout.endsWith(`${summary.replace('%', 'indexed')}\n`), added.stdout)
  t.match((await index('sources')).stdout, /5\thandbook\.docx\n/)
  t.match((await index('sources')).stdout, /1\tmanuals\/reference\.html\n/)

  const one = await index('add', path.join(docs, 'handbook.md'), path.join(docs, 'dues.bin'))
  t.match(one, { code: 0, stdout: /\n1 file indexed; 1 left out: 1 \.bin \(not supported\)\n$/ })
  const { stdout } = await runCli(['ask', 'How many hours before arrival is a pilot ordered?', '--json'], env)
  const { evidence } = JSON.parse(stdout) as { evidence: { source?: string; metadata?: { kind?: string; heading?: string } }[] }
  t.ok(
    evidence.some(({ source, metadata }) => source?.startsWith('handbook.') === true && metadata?.heading !== undefined),
    stdout.slice(0, 2000),
  )
})

await t.test('documents are read where the packages are a link to another folder', async (t) => {
  const dir = await tempDir(t)
  await cp(path.join(root, 'dist'), path.join(dir, 'program', 'dist'), { recursive: true })
  await copyFile(path.join(root, 'package.json'), path.join(dir, 'program', 'package.json'))
  await symlink(path.join(root, 'node_modules'), path.join(dir, 'program', 'node_modules'))
  await writeFile(path.join(dir, 'lamp.md'), 'The lamp is lit at six.\n')
  const args = ['index', 'add', path.join(dir, 'lamp.md'), '--check']
  const env = tinyShared(dir, { CEPE_RETRIEVER_CHECKPOINT: path.join(root, 'models/tiny/checkpoint/contriever') })
  const checked = await finished(startNode(path.join(dir, 'program', 'dist', 'src', 'cli.js'), args, { env }))
  t.match(checked, { code: 0, stdout: /1 file fit to index/ }, checked.stderr)
})

await t.test('pages of the web: private ones by a flag alone, with one command', async (t) => {
  const dir = await tempDir(t)
  const env = tinyShared(dir, { CEPE_FETCH_DELAY_MS: '0' })
  const pages: Record<string, string> = {
    '/lamps': pageOf('Lamps', 'The lamp burns at night.'),
    '/bells': pageOf('Bells', 'The bell rings.'),
  }
  const site = await webSite(t, pages)
  const address = site.url('/sitemap.xml')
  pages['/sitemap.xml'] = sitemapOf(['/lamps', '/bells', '/gone'].map((path) => site.url(path)))
  const index = (...args: string[]) => runCli(['index', ...args], env)
  t.match(await index('add', address), { code: 1, stderr: /no address of the public internet.*--allow-private/ })
  t.match(await index('add', 'http://localhost/', '--check'), {
    code: 1,
    stdout: /private_address: .*--allow-private.*\n.*a job would fail/,
  })
  t.same(site.requests, [])
  const added = await index('add', address, '--allow-private')
  t.equal(added.code, 0, added.stderr)
  t.ok(added.stdout.endsWith('2 files indexed; 1 left out: 1 page (not found)\n'), added.stdout)
})

await t.test('a text file is a document, or a table where it begins as one; folders without either are named', async (t) => {
  const dir = await tempDir(t)
  const env = tinyShared(dir)
  const file = (name: string) => path.join(dir, name)
  await writeFile(file('note.txt'), 'The lamp burns at night.')
  await writeFile(file('table.txt'), 'id\ttext\n1\tThe lamp\n')
  await mkdir(file('sounds'))
  await writeFile(file('sounds/a.flac'), 'fLaC')
  const check = (...args: string[]) => runCli(['index', 'add', ...args, '--check'], env)
  t.match((await check(file('note.txt'))).stdout, /1 file readable, 1 passage/)
  t.match((await check(file('table.txt'))).stdout, /table\.txt: 1 line, 0 rejected, 1 passage/)
  t.match((await check(file('sounds'))).stderr, /sounds holds neither tables .* nor documents/)
  t.match(await check(file('sounds/a.flac')), {
    code: 1,
    stdout: /a\.flac: not_supported: Files of this kind are not read[^]*a job would fail/,
  })
})
