import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { filesUnder } from '../../base/files.ts'
import { packageRoot } from '../../src/package.ts'

const FOLDERS = ['docs', 'deploy', 'bench/results', 'eval/reports', 'models/tiny', 'models/reader', 'models/retriever', 'src/client']

/** A document's text without code blocks, where brackets and # have other meanings. */
function prose(file: string): string {
  return readFileSync(file, 'utf8').replaceAll(/^```.*?^```/gms, '')
}

/** A heading's anchor, as on GitHub: lower case, no punctuation, hyphens for spaces. */
function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-')
}

t.test('every link of the documents leads to an existing file and heading', async (t) => {
  const root = packageRoot()
  const files = (await Promise.all(FOLDERS.map((folder) => filesUnder(path.join(root, folder))))).flat()
  const documents = ['README.md', 'CONTRIBUTING.md']
    .map((file) => path.join(root, file))
    .concat(files.filter((file) => file.endsWith('.md')))
  let links = 0
  for (const document of documents) {
    for (const [, target = ''] of prose(document).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue
      links++
      const [file = '', heading] = target.split('#')
      const place = file === '' ? document : path.resolve(path.dirname(document), file)
      const where = `${path.relative(root, document)} -> ${target}`
      if (!existsSync(place)) t.fail(where)
      else if (heading !== undefined) {
        const headings = [...prose(place).matchAll(/^#+ (.*)$/gm)].map(([, text = '']) => anchor(text))
        t.ok(headings.includes(heading), where)
      }
    }
  }
  t.ok(links > 30, `${links} links`)
})
