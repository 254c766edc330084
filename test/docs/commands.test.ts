import { Command } from 'commander'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { ERROR_STATUS, isErrorCode, type ErrorCode } from '../../base/errors.ts'
import { filesUnder } from '../../base/files.ts'
import { evalProgram } from '../../eval/commands/program.ts'
import { COMMANDS } from '../../src/cli/commands.ts'
import { packageRoot } from '../../src/package.ts'
import { ConfigSchema } from '../../src/settings.ts'
import { testApp } from '../http/helpers.ts'

const root = packageRoot()
/** Other variables with the prefix: of commands, tests and compose files, and one that Kubernetes would set. */
const NO_SETTINGS = [
  'KEY',
  'TEST_S3_PYTHON',
  'TEST_AI_SDK',
  'TEST_CLIENTS_PYTHON',
  'TEST_OPENAPI_TYPESCRIPT',
  'IMAGE',
  'STORE_IMAGE',
  'STORE_SECRET',
  'SERVICE_HOST',
]

/** Folders that a start or a build makes. */
const BUILT = /^(?:models\/(?:built|contriever)|index\/data|eval\/runs)\b/

/** Codes of commands; no response has them. */
const OF_COMMANDS: readonly ErrorCode[] = [
  'hub_unreachable',
  'dataset_invalid',
  'options_invalid',
  'run_mismatch',
  'run_invalid',
  'service_unreachable',
  'nothing_scored',
]

interface Document {
  readonly name: string
  readonly text: string
}

/** Documents for users; results and decisions are records of a day and are not compared with the program. */
async function documents(): Promise<Document[]> {
  const folders = await Promise.all(
    ['docs', 'deploy', 'models/tiny', 'models/reader', 'models/retriever'].map((folder) => filesUnder(path.join(root, folder))),
  )
  const files = folders.flat().filter((file) => file.endsWith('.md') && !file.includes('decisions'))
  return ['README.md', 'CONTRIBUTING.md']
    .map((file) => path.join(root, file))
    .concat(files)
    .map((file) => ({ name: path.relative(root, file), text: readFileSync(file, 'utf8') }))
}

/** Shell commands in a document: lines of code blocks, and inline code. */
function shellOf(text: string): string[] {
  const blocks = [...text.matchAll(/^```\n(.*?)^```/gms)].flatMap(([, block = '']) => block.replaceAll(/\\\n\s*/g, ' ').split('\n'))
  const inline = [...text.replaceAll(/^```.*?^```/gms, '').matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code)
  return [...blocks, ...inline].flatMap((line) => line.replace(/(^|\s)#\s.*$/, '').split(/\||&&|;|>/)).map((part) => part.trim())
}

/** All commands. `cepe calibrate` runs when it is imported, so its options are read from its source. */
async function cepe(): Promise<Command> {
  const program = new Command('cepe')
  for (const load of Object.values(COMMANDS)) program.addCommand(await load())
  program.addCommand(evalProgram().name('eval'))
  const command = program.command('calibrate')
  for (const [, flags = ''] of readFileSync(path.join(root, 'eval/calibrate.ts'), 'utf8').matchAll(/\.option\(\s*'([^']+)'/g))
    command.option(flags)
  return program
}

/** Problem of a command line of cepe; undefined for a valid one. */
function problemOf(line: string, program: Command): string | undefined {
  let command = program
  for (const word of line.split(/\s+/).filter((part) => part !== '')) {
    const sub = command.commands.find((one) => one.name() === word)
    if (sub !== undefined) command = sub
    else if (command === program && /^[a-z]/.test(word)) return `there is no command ${word}`
    else if (/^--[a-z]/.test(word) && !command.options.some(({ long }) => long === word.replace(/[=,.].*$/, '')))
      return `${command.name()} has no option ${word}`
  }
  return undefined
}

await t.test('every command of cepe in a document exists, with its options', async (t) => {
  const program = await cepe()
  let checked = 0
  for (const { name, text } of await documents())
    for (const part of shellOf(text)) {
      const [, line] = /^(?:\w+=\S*\s+)*(?:npx )?cepe (.+)$/.exec(part) ?? []
      if (line === undefined) continue
      checked++
      t.equal(problemOf(line, program), undefined, `${name}: ${part}`)
    }
  t.ok(checked > 45, `${checked} commands`)
  t.equal(problemOf('index ad corpus.tsv --split', program), 'index has no option --split', 'a wrong option is found')
  t.equal(problemOf('indx add', program), 'there is no command indx')
})

await t.test('scripts and programs in documents exist', async (t) => {
  const { scripts } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> }
  const all = await documents()
  for (const { name, text } of all) {
    for (const [, script = ''] of text.matchAll(/npm run ([\w:-]+)/g)) t.hasProp(scripts, script, name)
    for (const [, script = ''] of text.matchAll(/`((?:bench|proof|build|test|eval):[\w-]+)`/g)) t.hasProp(scripts, script, name)
    for (const [, file = ''] of text.matchAll(/\bdist(?:-test)?\/([\w./-]+)\.js/g))
      t.ok(existsSync(path.join(root, `${file}.ts`)), `${name}: ${file}`)
    for (const [, file = ''] of text.matchAll(/`((?:base|src|models|index|migrations|eval|bench|test|deploy)\/[\w./-]+)`/g))
      if (!BUILT.test(file)) t.ok(existsSync(path.join(root, file)), `${name}: ${file}`)
  }
  const texts = [...all.map(({ text }) => text), ...Object.values(scripts)].join('\n')
  for (const script of Object.keys(scripts))
    t.ok(
      new RegExp(`npm (run (--silent )?)?${script}\\b|npm:${script}\\b|\`${script}\``).test(texts),
      `${script} is named in a document or a script`,
    )
  for (const script of Object.values(scripts))
    for (const [, file = ''] of script.matchAll(/\bdist(?:-test)?\/([\w./-]+)\.js/g))
      t.ok(existsSync(path.join(root, `${file}.ts`)), script)
})

await t.test('every error that a request can meet is in the table of errors, with its status', (t) => {
  const api = readFileSync(path.join(root, 'docs/api.md'), 'utf8')
  const listed = new Map<string, readonly string[]>()
  for (const [, statuses = '', codes = ''] of api.matchAll(/^\| (\d{3}(?:, \d{3})*) \| (.*) \|$/gm))
    for (const [, code] of codes.matchAll(/`([a-z_]+)`/g)) if (isErrorCode(code)) listed.set(code, statuses.split(', '))
  for (const code of Object.keys(ERROR_STATUS).filter(isErrorCode)) {
    if (OF_COMMANDS.includes(code)) t.notOk(listed.has(code), `${code}: only commands report it`)
    else t.ok(listed.get(code)?.includes(String(ERROR_STATUS[code])), `${code}: ${ERROR_STATUS[code]}`)
  }
  t.end()
})

await t.test('settings and routes in documents exist', async (t) => {
  const { app } = await testApp(t)
  const { paths } = (await app.inject('/docs/json')).json<{ paths: Record<string, Record<string, object>> }>()
  const routes = new Set(
    Object.entries(paths).flatMap(([url, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${url.replaceAll(/\{(\w+)\}/g, ':$1')}`),
    ),
  )
  let named = 0
  for (const { name, text } of await documents()) {
    for (const [whole, setting = ''] of text.matchAll(/\bCEPE_([A-Z0-9_]+)/g))
      t.ok(setting in ConfigSchema.properties || NO_SETTINGS.includes(setting), `${name}: ${whole}`)
    for (const [, method = '', url = ''] of text.matchAll(/\b(GET|POST|PUT|DELETE) (\/v1\/[\w/:-]+)/g)) {
      named++
      t.ok(routes.has(`${method} ${url.replace(/[:/]$/, '')}`), `${name}: ${method} ${url}`)
    }
  }
  t.ok(named > 30, `${named} routes`)
})
