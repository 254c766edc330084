import t from 'tap'
import { textsOf } from '../../src/documents/blocks/contract.ts'
import { readBlocks } from '../../src/documents/blocks/read.ts'
import { typeOfName } from '../../src/documents/type.ts'

/** More than a function takes as arguments. */
const MANY = 130_000
const many = (part: string): string => part.repeat(MANY)
const mail = (type: string, body: string): string => `From: a@b.org\nSubject: s\nContent-Type: ${type}\n\n${body}`

/** Files, a mark of each of their parts, and what stands once. */
const FILES = [
  { file: 'code.txt', content: `Listing follows.\n\n${many('    part\n')}`, once: 'Listing follows.' },
  { file: 'item.txt', content: `- once\n\n${many('  part\n')}`, once: '- once' },
  { file: 'items.txt', content: `Items:\n\n${many('- part\n\n')}`, once: 'Items:' },
  { file: 'inline.html', content: `<h1>once</h1><p>${many('<b>part</b> ')}`, once: 'once' },
  { file: 'hidden.html', content: `<h1>once</h1><p>${many('part ')}</p><div>${many('<i>.</i>')}</div>`, once: 'once' },
  { file: 'text.rst', content: `Once\n====\n\n${many('The part.\n\n')}`, once: 'Once' },
  { file: 'page.eml', content: mail('text/html', `<h1>once</h1>${many('<p>part</p>')}`), once: 'once' },
]

for (const { file, content, once } of FILES)
  t.test(`${file}: each of ${MANY} parts is read`, async (t) => {
    const type = typeOfName(file)
    if (type === undefined) throw new Error(file)
    const { blocks } = await readBlocks({ bytes: Buffer.from(content), type })
    const text = blocks.flatMap((block) => [...textsOf(block)]).join('\n')
    t.equal(text.split('part').length - 1, MANY)
    t.equal(text.split(once).length - 1, 1)
  })
