import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/config.ts'

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
