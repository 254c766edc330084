import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { DOCUMENT, readFigures, withFigures } from '../../bench/figures.ts'

await t.test('the tables of the benchmarks are those of the results, and there are no others', async (t) => {
  const document = await readFile(DOCUMENT, 'utf8')
  const figures = await readFigures()
  t.equal(withFigures(document, figures), document, 'else: node dist-test/bench/figures.js --write')
  const outside = document.replaceAll(/<!-- figures: [a-z0-9-]+ -->[^]*?<!-- end of figures -->/g, '')
  t.notMatch(outside, /^\|/m, 'a table without figures')
})

await t.test('a figure that changes is told; what does not fit is refused', async (t) => {
  const document = 'a\n<!-- figures: one -->\n\n| x | y |\n| --- | --- |\n| 1 | 2 |\n\n<!-- end of figures -->\nb'
  const one = { columns: ['x', 'y'], rows: [{ x: '1', y: '2' }] }
  t.equal(withFigures(document, { tables: { one } }), document)
  t.equal(withFigures(document, { tables: { one: { ...one, rows: [{ x: '1', y: '3' }] } } }), document.replace('| 1 | 2 |', '| 1 | 3 |'))
  t.throws(() => withFigures(document, { tables: { one: { ...one, rows: [{ x: '1' }] } } }), /has no "y"/)
  t.throws(() => withFigures(document, { tables: { one, two: one } }), /no placeholder for the figures two/)
  t.throws(() => withFigures(document, { tables: {} }), /figures one, which do not exist/)
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-figures-'))
  t.teardown(() => rm(dir, { recursive: true }))
  await writeFile(path.join(dir, 'f.json'), '{"tables":{"one":{"columns":["x"],"rows":[]}}}')
  await t.rejects(readFigures(path.join(dir, 'f.json')), /f\.json: \/tables\/one/)
})
