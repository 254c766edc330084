import type { Command } from 'commander'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { filesUnder } from '../../base/files.ts'
import { COMMANDS } from '../../src/cli/commands.ts'
import { packageRoot } from '../../src/package.ts'
import { TOOLS } from '../../src/mcp/tools.ts'
import { ConfigSchema } from '../../src/settings.ts'
import { testApp } from '../http/helpers.ts'

const MOST = 200
/** Words that make a reader guess. */
const RIDDLES =
  /\b(told|beside|goes on|lets? in|taken along|nobody|meanwhile|of (its|their|your) own|says so|where there (is|are) none|what (nobody|hangs)|to be had|in any manner|so many|likeliest|is meant|made to stand|asked of|falls short)\b/

/** All texts of an object's members `description`, `summary` and `title`, with the path of each. */
function textsOf(value: unknown, path = ''): [string, string][] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]: [string, unknown]): [string, string][] =>
    ['description', 'summary', 'title'].includes(name) && typeof member === 'string'
      ? [[`${path}/${name}`, member]]
      : textsOf(member, `${path}/${name}`),
  )
}

function textsOfCommand(command: Command, above = 'cepe'): [string, string][] {
  const name = `${above} ${command.name()}`
  return [
    [name, command.description()],
    ...command.options.map(({ flags, description }): [string, string] => [`${name} ${flags}`, description]),
    ...command.registeredArguments.map((argument): [string, string] => [`${name} <${argument.name()}>`, argument.description]),
    ...command.commands.flatMap((inner) => textsOfCommand(inner, name)),
  ]
}

function check(t: Test, texts: readonly [string, string][]): void {
  t.ok(texts.length > 10)
  for (const [path, text] of texts) {
    if (text.length > MOST) t.fail(`${path} has ${text.length} characters, at most ${MOST}: ${text}`)
    const [word] = RIDDLES.exec(text) ?? []
    if (word !== undefined) t.fail(`${path} says "${word}": ${text}`)
  }
}

await t.test('descriptions of the API are short and in plain words', async (t) => {
  const { app } = await testApp(t)
  check(t, textsOf((await app.inject('/docs/json')).json()))
})

await t.test('descriptions of tools, commands and settings are short and in plain words', async (t) => {
  check(t, textsOf(TOOLS))
  check(
    t,
    (await Promise.all(Object.values(COMMANDS).map((load) => load()))).flatMap((command) => textsOfCommand(command)),
  )
  check(t, textsOf(ConfigSchema))
})

await t.test('documents are in plain words', async (t) => {
  const root = packageRoot()
  const folders = await Promise.all(['docs', 'deploy', 'src/client'].map((folder) => filesUnder(path.join(root, folder))))
  const files = ['README.md', 'CONTRIBUTING.md'].map((file) => path.join(root, file)).concat(folders.flat())
  for (const file of files.filter((name) => name.endsWith('.md')))
    for (const [i, line] of readFileSync(file, 'utf8').split('\n').entries()) {
      const [word] = RIDDLES.exec(line) ?? []
      if (word !== undefined) t.fail(`${path.relative(root, file)}:${i + 1} says "${word}": ${line}`)
    }
  t.ok(files.length > 20)
})
