import path from 'node:path'
import t from 'tap'
import { finished, startNode } from '../../eval/bench/processes.ts'
import { skippedIn } from './skipped.ts'

const FILE = `
import t from 'tap'
t.test('outer', async (t) => {
  t.test('left out # there', { skip: 'needs ../shared: no goldens' }, () => {})
  t.test('run', (t) => t.end())
  t.ok(true, 'an assert', { skip: 'later' })
})
t.test('without a reason', { skip: true }, () => {})
t.test('to do', { todo: true }, () => {})
`

t.test('what a file leaves out is told by name and reason', async (t) => {
  const file = path.join(t.testdir({ 'some.test.mjs': FILE }), 'some.test.mjs')
  const { stdout, stderr } = await finished(startNode(file, []))
  t.same(
    skippedIn('some.test.mjs', stdout),
    [
      { file: 'some.test.mjs', name: 'left out \\# there', reason: 'needs ../shared: no goldens' },
      { file: 'some.test.mjs', name: 'an assert', reason: 'later' },
      { file: 'some.test.mjs', name: 'without a reason', reason: '' },
    ],
    stderr,
  )
})
