import { readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { filesUnder } from '../../base/files.ts'
import { packageRoot } from '../../src/package.ts'

const FOLDERS = ['index', 'models', 'src']

await t.test('the examples of docstrings compile', async (t) => {
  const root = packageRoot()
  const files = (await Promise.all(FOLDERS.map((folder) => filesUnder(path.join(root, folder))))).flat()
  const examples = new Map<string, string>()
  for (const file of files.filter((file) => file.endsWith('.ts'))) {
    for (const [, code = ''] of readFileSync(file, 'utf8').matchAll(/^ \* @example\n \* ```ts\n([^]*?)^ \* ```$/gm))
      examples.set(path.join(root, `example-${examples.size}.ts`), code.replaceAll(/^ \* ?/gm, ''))
  }
  t.ok(examples.size >= 12, `${examples.size} examples`)

  const { config } = ts.readConfigFile(path.join(root, 'tsconfig.json'), (file) => ts.sys.readFile(file)) as { config: unknown }
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const compilerOptions = { ...options, noEmit: true, noUnusedLocals: false }
  const host = ts.createCompilerHost(compilerOptions)
  host.fileExists = (file) => examples.has(file) || ts.sys.fileExists(file)
  host.readFile = (file) => examples.get(file) ?? ts.sys.readFile(file)
  const program = ts.createProgram([...examples.keys()], compilerOptions, host)
  for (const [file, code] of examples) {
    const source = program.getSourceFile(file)
    const found = source && [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)]
    t.same(
      found?.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
      [],
      code,
    )
  }
})
