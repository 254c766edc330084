import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/package.ts'
import { PRODUCTION, sourcesOf } from '../helpers/sources.ts'

const MOST_WORDS = 320
const SECTIONS = ['Context', 'Decision', 'Consequences']

t.test('every decision note has a title, its date, context, decision and consequences, in at most 320 words', (t) => {
  const folder = path.join(packageRoot(), 'docs/decisions')
  const notes = readdirSync(folder)
  t.ok(notes.length > 25, `${notes.length} notes`)
  for (const name of notes) {
    const [, date] = /^(\d{4}-\d\d-\d\d)-[a-z0-9-]+\.md$/.exec(name) ?? []
    const note = readFileSync(path.join(folder, name), 'utf8')
    const words = note.split(/\s+/).filter((word) => word !== '').length
    t.ok(words <= MOST_WORDS, `${name}: ${words} words`)
    t.ok(
      date !== undefined && new RegExp(`^# [^\n]+\n\nDate: ${date}(, revised \\d{4}-\\d\\d-\\d\\d)?\n\n## `).test(note),
      `${name}: title and date`,
    )
    const sections = [...note.matchAll(/^#{1,6} (.*)$/gm)].slice(1).map(([, title]) => title)
    t.same(sections, sections.includes('To undo') ? [...SECTIONS, 'To undo'] : SECTIONS, `${name}: sections`)
    t.notMatch(note, /^#+ .*\n+(?=#|$(?![^]))/m, `${name}: an empty section`)
  }
  t.end()
})

/** A path below a folder of the project, and a name of a function or property: two words without a space. */
const FILE = /^(?:base|src|models|index|migrations|eval|bench|test|deploy|docs)\/[\w./-]+$/
const NAME = /^[a-z]+(?:[A-Z][a-z]+)+$/

/** Inline code of a note that names a file or a function which does not exist. */
function missingIn(note: string, sources: string): string[] {
  return [...note.matchAll(/`([^`\n]+)`/g)]
    .map(([, code = '']) => code)
    .filter((code) => (FILE.test(code) ? !existsSync(path.join(packageRoot(), code)) : NAME.test(code) && !sources.includes(code)))
}

t.test('files and functions that a decision note names exist', (t) => {
  const folder = path.join(packageRoot(), 'docs/decisions')
  const configs = ['tsconfig.json', 'package.json'].map((file) => readFileSync(path.join(packageRoot(), file), 'utf8'))
  const sources = [...configs, ...[...sourcesOf(PRODUCTION).values()].map(({ text }) => text)].join('\n')
  for (const name of readdirSync(folder)) t.same(missingIn(readFileSync(path.join(folder, name), 'utf8'), sources), [], name)
  t.same(missingIn('`index/gone.ts`, `index/view.ts`, `noSuchFunction`, `storeOf`, `GET /v1/info`', sources), [
    'index/gone.ts',
    'noSuchFunction',
  ])
  t.end()
})
