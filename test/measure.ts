/** Sizes of the project, one per line: `npm run measure`. */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { Command } from 'commander'
import { evalProgram } from '../eval/commands/program.ts'
import { COMMANDS } from '../src/cli/commands.ts'
import { ConfigSchema } from '../src/settings.ts'
import { circlesOf, roomsOf } from './helpers/rooms.ts'
import { PRODUCTION, type Source, sourcesOf } from './helpers/sources.ts'
import { root } from './helpers/root.ts'

const SMALL_LINES = 30

function linesOf(sources: ReadonlyMap<string, Source>, parts: readonly string[] = PRODUCTION): number {
  let lines = 0
  for (const [file, { text }] of sources) if (parts.some((part) => file.startsWith(`${part}/`))) lines += text.split('\n').length - 1
  return lines
}

/** Rooms, arrows between them and circles, of the whole project or of a folder. */
function house(sources: ReadonlyMap<string, Source>, folder = ''): string {
  const inside = [...sources].filter(([file]) => file.startsWith(folder))
  const rooms = roomsOf(new Map(inside.map(([file, { imports }]) => [file, [...imports.keys()]])))
  const arrows = [...rooms.values()].reduce((sum, others) => sum + others.size, 0)
  return `${rooms.size} rooms, ${arrows} arrows, ${circlesOf(rooms).length} circles`
}

/** Exports that no file of the product imports and a test does. */
function exportsForTests(sources: ReadonlyMap<string, Source>, tests: ReadonlyMap<string, Source>): number {
  const usedIn = (users: ReadonlyMap<string, Source>) => {
    const used = new Set<string>()
    for (const { imports } of users.values()) for (const [file, names] of imports) for (const name of names) used.add(`${file} ${name}`)
    return used
  }
  const [inProduct, inTests] = [usedIn(sources), usedIn(tests)]
  let count = 0
  for (const [file, { text }] of sources)
    for (const [, name = ''] of text.matchAll(/^export (?:async )?(?:const|function\*?|class|interface|type) (\w+)/gm))
      if (!inProduct.has(`${file} ${name}`) && inTests.has(`${file} ${name}`)) count++
  return count
}

function optionsOf(command: Command): number {
  return command.options.length + command.commands.reduce((sum, inner) => sum + optionsOf(inner), 0)
}

function wordsIn(folder: string): number {
  const files = readdirSync(path.join(root, folder)).filter((name) => name.endsWith('.md'))
  return files.reduce((sum, name) => sum + (readFileSync(path.join(root, folder, name), 'utf8').match(/\S+/g) ?? []).length, 0)
}

/** Calls and returns of the functions that make up the service, and the files that they are called in. */
function compositionRoot(sources: ReadonlyMap<string, Source>): string {
  const start = [...sources].find(([, { text }]) => /export async function openService\b/.test(text))
  if (start === undefined) return 'none is called openService'
  const room = path.dirname(start[0])
  const files = [...sources].filter(([file]) => path.dirname(file) === room)
  const count = (pattern: RegExp) => files.reduce((sum, [, { text }]) => sum + (text.match(pattern) ?? []).length, 0)
  return `${files.length} files in ${room}, ${count(/\b(?!if\b|for\b|while\b|switch\b|return\b|function\b)\w+\(/g)} calls, ${count(/\breturn\b/g)} returns`
}

async function measure(): Promise<readonly (readonly [string, string | number])[]> {
  const sources = sourcesOf(PRODUCTION)
  const commands = await Promise.all(Object.values(COMMANDS).map((load) => load()))
  const evaluation = evalProgram()
  // Without the options of tasks and suites.
  const counted = [evaluation, ...evaluation.commands.filter((command) => ['report', 'table', 'giraffe', 'pi'].includes(command.name()))]
  const ofEvaluation = new Set(counted.flatMap(({ options }) => options.filter(({ hidden }) => !hidden).map(({ flags }) => flags)))
  const ofCalibration = (sources.get('eval/calibrate.ts')?.text ?? '').match(/\.option\(/g)?.length ?? 0
  const inIndex = [...sources].filter(([file]) => file.startsWith('index/')).map(([, { text }]) => text)
  const branches = inIndex.reduce(
    (sum, text) => sum + (text.match(/\bif \([^)]*\breplace\b|\breplace (?:\?|&&|\|\|) |\breplace === /g) ?? []).length,
    0,
  )
  return [
    ['lines of production TypeScript', linesOf(sources)],
    ['of these evaluation and benchmarks', linesOf(sources, ['eval', 'bench'])],
    ['composition root', compositionRoot(sources)],
    ['rooms', house(sources)],
    ['src/jobs', house(sources, 'src/jobs/')],
    ['branches on replace in index/', branches],
    ['files under 30 lines', [...sources.values()].filter(({ text }) => text.split('\n').length <= SMALL_LINES).length],
    ['exports for tests alone', exportsForTests(sources, sourcesOf(['test']))],
    ['words of docs/', wordsIn('docs')],
    ['decision notes', readdirSync(path.join(root, 'docs/decisions')).length],
    ['settings', Object.keys(ConfigSchema.properties).length],
    ['options of the command line', commands.reduce((sum, command) => sum + optionsOf(command), ofEvaluation.size + ofCalibration)],
  ]
}

// One write, which a reader like `head` does not interrupt.
process.stdout.write((await measure()).map(([what, size]) => `${what}: ${size}\n`).join(''))
