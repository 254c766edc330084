import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { runCli } from '../helpers/cli.ts'
import { tinyService } from '../helpers/service-settings.ts'
import { tempDir } from '../index/helpers.ts'

await t.test('tables of other shapes, from the command line: an FAQ, one without a header, nested metadata', async (t) => {
  const dir = await tempDir(t)
  const env = tinyService(dir)
  const file = (name: string) => path.join(dir, name)
  await writeFile(file('faq.csv'), 'question,answer\nWhen is the office open?,From eight to four.\nWhere is it?,At the southern pier.\n')
  await writeFile(file('plain.txt'), '7\tThe lamp burns at night.\n8\tThe bell rings in fog.\n')
  await writeFile(file('notes.jsonl'), '{"id":"n1","text":"A note.","metadata":{"year":1999,"author":{"name":"A"}}}\n')
  const add = (...args: string[]) => runCli(['index', 'add', ...args], env)

  t.match(await add(file('faq.csv')), { code: 1, stderr: /no column id and text.*columns/ })
  t.match(await add(file('faq.csv'), '--columns', 'title=question,text='), { code: 1, stderr: /columns must name a column/ })
  t.match(await add(file('faq.csv'), '--columns', 'id=question,text=answer', '--ids', 'line'), { code: 1, stderr: /give one of the two/ })
  t.match(await add(file('faq.csv'), '--columns', 'title=question,text=answer'), { code: 0, stdout: /2\/2 committed, 0 unchanged/ })
  t.match(await add(file('faq.csv'), '--columns', 'title=question,text=answer'), { code: 0, stdout: /2\/2 committed, 2 unchanged/ })
  t.match(await add(file('plain.txt'), '--columns', 'id=1,text=2'), { code: 0, stdout: /2\/2 committed/ })
  const left = /notes\.jsonl: Nested metadata is not stored and was left out: author \(1 row\)\.\n/
  t.match(await add(file('notes.jsonl'), '--check'), { code: 0, stdout: left })
  t.match(await add(file('notes.jsonl')), { code: 0, stderr: left })

  const { stdout } = await runCli(['index', 'export'], env)
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { id: string; title: string; metadata?: object })
  t.same(rows.map(({ id, title }) => `${id.replace(/#.*/, '#')} ${title}`).sort(), [
    '7 ',
    '8 ',
    'faq.csv# When is the office open?',
    'faq.csv# Where is it?',
    'n1 ',
  ])
  t.same(rows.find(({ id }) => id === 'n1')?.metadata, { year: 1999 })

  await mkdir(file('folder'))
  await writeFile(file('folder/a.tsv'), 'body\nThe first.\n')
  await writeFile(file('folder/b.tsv'), 'body\nThe second.\n')
  t.match(await add(file('folder'), '--columns', 'text=body', '--ids', 'line', '--check'), {
    code: 0,
    stdout: /a\.tsv: 1 line, 0 rejected/,
  })
})
