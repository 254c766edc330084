import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/package.ts'

const MOST_FILES_OF_A_PATH = 10

const tour = readFileSync(path.join(packageRoot(), 'docs/tour.md'), 'utf8')

/** Files that a module imports, types included, except in comments. */
function importsOf(file: string): Set<string> {
  const text = readFileSync(path.join(packageRoot(), file), 'utf8')
  const specifiers = [...text.matchAll(/^(?! \*).*\b(?:from |import\()'(\.[^']+)'/gm)].flatMap(([, specifier]) => specifier ?? [])
  return new Set(specifiers.map((specifier) => path.posix.join(path.posix.dirname(file), specifier)))
}

t.test('every file that the tour names exists', (t) => {
  const named = [...tour.matchAll(/`((?:src|index|models|migrations|eval|base)\/[^`]*)`/g)].flatMap(([, file]) => file ?? [])
  t.ok(named.length > 60, `${named.length} files are named`)
  for (const file of named) t.ok(existsSync(path.join(packageRoot(), file)), file)
  t.end()
})

t.test('each path of the tour has at most ten files, connected by imports', (t) => {
  const paths = tour.split(/^## /m).filter((section) => /^1\. /m.test(section))
  t.equal(paths.length, 3)
  for (const section of paths) {
    const [title = ''] = section.split('\n')
    const steps = [...section.matchAll(/^\d+\. `([^`]+)`(?:, through `([^`]+)`)?/gm)].map(([, file = '', contract]) => ({ file, contract }))
    t.equal(steps.length, section.match(/^\d+\. /gm)?.length, `${title}: every step begins with its file`)
    t.ok(steps.length <= MOST_FILES_OF_A_PATH, `${title}: ${steps.length} files`)
    for (const [k, { file, contract }] of steps.entries()) {
      if (k === 0) continue
      const connected = steps.slice(0, k).some((step) => {
        const [above, below] = [importsOf(step.file), importsOf(file)]
        return contract === undefined ? above.has(file) || below.has(step.file) : above.has(contract) && below.has(contract)
      })
      t.ok(connected, `${title}: ${file}${contract === undefined ? '' : ` through ${contract}`}`)
    }
  }
  t.end()
})
