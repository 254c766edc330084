import t from 'tap'
import { pullCommand } from '../../src/cli/pull.ts'
import { readCommand } from '../../src/cli/ask.ts'
import { runCli } from '../helpers/cli.ts'

t.test('what is typed in and cannot be: a document that is no file, a revision of no name', async (t) => {
  for (const file of ['.', '/nonexistent/report.pdf'])
    await t.rejects(readCommand().parseAsync([file, 'who'], { from: 'user' }), { code: 'not_found', message: /There is no file/ }, file)
  await t.rejects(pullCommand().parseAsync(['owner/name@'], { from: 'user' }), { code: 'options_invalid', message: /no revision/ })
})

t.test('options that would have no effect are refused', async (t) => {
  for (const [args, message] of [
    ['eval --url http://127.0.0.1:1 suite demo', /^cepe eval: --url stands before "suite".*leave it out, or write it after/],
    ['eval --out folder report run', /--out stands before "report"/],
    ['eval --key k --dataset eval/questions/test.jsonl', /--key is for a running service: name that with --url/],
    ['calibrate eval/questions/test.jsonl --key k', /--key is for a running service: name that with --url/],
    ['eval table 1 --url http://127.0.0.1:1', /--url and --key are for tables of questions/],
    ['index add a.md --label a --label b', /^cepe: --label is given twice: name one value/],
    ['index sources --collection a --table b', /--collection is given twice/],
    ['index add README.md --split=20 --check --split', /--split is given twice/],
    ['index add README.md --allow-private --check', /--allow-private is for addresses of web pages/],
    ['index add README.md src --delete-missing --check', /--delete-missing requires a folder/],
    ['verify built --golden a --golden b --samples 3', /--samples goes with --against/],
    ['verify built --golden a --texts b', /--texts goes with --against/],
    ['verify built --against other --atol 1', /--atol goes with --golden/],
    ['build checkpoint --out built --adapter a --adapter b --lm-head float', /--lm-head is of quantised builds/],
  ] as const)
    t.match(await runCli(args.split(' ')), { code: 1, stderr: message }, args)
})

t.test('an empty argument, of a variable that is not set, is not taken for the current folder', async (t) => {
  for (const [args, name] of [
    [['index', 'add', ''], 'add'],
    [['index', 'add', 'README.md', ''], 'add'],
    [['index', 'plan', 'README.md', '--out', ''], '--out'],
    [['index', 'pending', ''], 'pending'],
    [['index', 'commit', ''], 'commit'],
    [['index', 'vectors', 'shards', '', '--made-by', 'a/b'], 'vectors'],
    [['embed-worker', ''], 'embed-worker'],
    [['build', '', '--out', 'built'], 'build'],
    [['build', 'checkpoint', '--out', ''], '--out'],
    [['pull', 'owner/name', '--out', ''], '--out'],
    [['keys', 'revoke', ''], 'revoke'],
    [['ask', '--file', ''], '--file'],
    [['read', '', 'who'], 'read'],
    [['verify', ''], 'verify'],
  ] as const)
    t.match(await runCli(args), { code: 1, stdout: '', stderr: `cepe: The argument of "${name}" is empty` }, args.join(' '))
})

t.test('an argument that is not UTF-8 is refused: Node.js replaces its letters', async (t) => {
  for (const args of [
    ['ask', 'where is Malm\ufffd'],
    ['read', 'a.txt', 'Malm\ufffd'],
    ['index', 'add', 'Malm\ufffd.tsv'],
  ])
    t.match(await runCli(args), { code: 1, stderr: /^cepe: An argument is not UTF-8/ }, args.join(' '))
})
