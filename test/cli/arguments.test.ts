import t from 'tap'
import { pullCommand } from '../../src/cli/pull.ts'
import { readCommand } from '../../src/cli/ask.ts'
import { runCli } from '../helpers/cli.ts'

t.test('what is typed in and cannot be: a document that is no file, a revision of no name', async (t) => {
  for (const file of ['.', '/nonexistent/report.pdf'])
    await t.rejects(readCommand().parseAsync([file, 'who'], { from: 'user' }), { code: 'not_found', message: /There is no file/ }, file)
  await t.rejects(pullCommand().parseAsync(['owner/name@'], { from: 'user' }), { code: 'options_invalid', message: /no revision/ })
})

t.test('an argument that is not UTF-8 is refused: Node.js replaces its letters', async (t) => {
  for (const args of [
    ['ask', 'where is Malm\ufffd'],
    ['read', 'a.txt', 'Malm\ufffd'],
    ['index', 'add', 'Malm\ufffd.tsv'],
  ])
    t.match(await runCli(args), { code: 1, stderr: /^cepe: An argument is not UTF-8/ }, args.join(' '))
})
