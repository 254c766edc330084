import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import t from 'tap'
import {
  answerSeconds,
  DOCUMENT,
  embedFlops,
  embedRate,
  planTables,
  searchMs,
  storage,
  withTables,
} from '../../../eval/bench/scale/scale-plan.ts'
import { GIVEN, UNIT_COSTS } from '../../../eval/bench/scale/scale-units.ts'

await t.test('every unit cost is what its results file says, and its command exists', async (t) => {
  const scripts = (JSON.parse(await readFile('package.json', 'utf8')) as { scripts: Record<string, string> }).scripts
  for (const [name, { value, words, file, command }] of Object.entries(UNIT_COSTS)) {
    t.ok((await readFile(file, 'utf8')).includes(words), `${name}: ${file} says "${words}"`)
    t.ok(words.replaceAll(',', '').includes(String(value)), `${name}: the words hold ${value}`)
    const source = /(?:dist\/)?(eval\/bench\/[\w/-]+)\.(?:js|ts)/.exec(command)?.[1]
    const script = /^npm run (\S+)(?: -- .*)?$/.exec(command)?.[1]
    t.ok(source === undefined ? script !== undefined && script in scripts : existsSync(`${source}.ts`), `${name}: ${command}`)
  }
})

await t.test('the document holds the tables that the unit costs give', async (t) => {
  const document = await readFile(DOCUMENT, 'utf8')
  t.equal(withTables(document, planTables(GIVEN.corePrice)), document, 'else: node dist/eval/bench/scale/scale-plan.js --write')
  t.throws(() => withTables('no marks', ''), /lost its marks/)
})

await t.test('the arithmetic', (t) => {
  // 12 layers, 150 tokens: 7,077,888 weights of 2 operations each a token and layer, and attention's two products.
  t.equal(embedFlops(150), 12 * (2 * 150 * 7_077_888 + 4 * 150 * 150 * 768))
  t.ok(Math.abs(embedFlops(150) * 21_015_300 - 5.5e17) < 0.05e17, 'about 5e17 operations for Wikipedia')
  t.ok(Math.abs(embedRate('int8') / embedRate('f32') - UNIT_COSTS.int8Encode.value) < 1e-9)
  t.ok(Math.abs(searchMs(100_000, 10, 316) - UNIT_COSTS.searchFew.value) < 0.01, 'as measured')
  t.ok(Math.abs(searchMs(100_000, 200, 316) - UNIT_COSTS.searchMany.value) < 0.01)
  t.ok(searchMs(21e6, 200) < searchMs(1e9, 200))
  t.equal(storage(1000).vectors, 1000 * 768 * 2)
  t.equal(storage(1000).states, 1000 * 150 * 1024 * 2)
  t.ok(answerSeconds('CEPE 7B') > 3 * answerSeconds('CEPE 1.1B'))
  t.match(planTables(1), /at \$1 a core hour/)
  t.end()
})
