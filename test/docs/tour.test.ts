import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/config.ts'

t.test('every file that the tour names exists', (t) => {
  const tour = readFileSync(path.join(packageRoot(), 'docs/tour.md'), 'utf8')
  const named = [...tour.matchAll(/`((?:src|index|models|migrations|eval|base)\/[^`]*)`/g)].flatMap(([, file]) => file ?? [])
  t.ok(named.length > 60, `${named.length} files are named`)
  for (const file of named) t.ok(existsSync(path.join(packageRoot(), file)), file)
  t.end()
})
