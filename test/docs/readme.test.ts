import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/package.ts'

const MOST_LINES = 150
const MOST_WORDS = 1500

t.test('the README stays short: what goes beyond belongs into docs/', (t) => {
  const readme = readFileSync(path.join(packageRoot(), 'README.md'), 'utf8')
  const lines = readme.trimEnd().split('\n').length
  const words = readme.split(/\s+/).filter((word) => word !== '').length
  t.ok(lines <= MOST_LINES, `${lines} lines`)
  t.ok(words <= MOST_WORDS, `${words} words`)
  t.end()
})

t.test('the README leads to every page of docs/', (t) => {
  const readme = readFileSync(path.join(packageRoot(), 'README.md'), 'utf8')
  const pages = readdirSync(path.join(packageRoot(), 'docs')).filter((file) => file.endsWith('.md'))
  for (const page of pages) t.ok(readme.includes(`](docs/${page})`), page)
  t.end()
})

t.test("the README's figures are those of the pages that it names as their source", (t) => {
  const [readme = '', ...sources] = ['README.md', 'docs/benchmarks.md', 'models/reader/checkpoint/MODEL_CARD.md'].map((file) =>
    readFileSync(path.join(packageRoot(), file), 'utf8'),
  )
  const [, section = ''] = /^## Benchmarks\n(.*?)^## /ms.exec(readme) ?? []
  const figures = [...section.matchAll(/^\|.*\| (.*) \|$/gm)].flatMap(([, cell = '']) => cell.match(/\d[\d.,]*\d/g) ?? [])
  t.ok(figures.length > 8, `${figures.length} figures`)
  for (const figure of figures)
    t.ok(
      sources.some((source) => source.includes(figure)),
      figure,
    )
  t.end()
})

t.test('the set-up commands install what they need where NODE_ENV is production', (t) => {
  const omitted = (...options: readonly string[]) =>
    execFileSync('npm', ['config', 'get', 'omit', ...options], {
      cwd: packageRoot(),
      env: { ...process.env, NODE_ENV: 'production', npm_config_omit: undefined },
      encoding: 'utf8',
    }).trim()
  t.equal(omitted(), '', 'npm start compiles')
  t.equal(omitted('--omit=dev'), 'dev')
  t.end()
})
