import path from 'node:path'
import t from 'tap'
import { finished, startNode } from './processes.ts'
import { failedIn, skippedIn } from './results.ts'

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

const FAILING = `
import t from 'tap'
t.test('outer', async (t) => {
  t.equal(1, 2, 'one is two')
  t.equal(1, 1, 'one is one')
  t.fail('not yet', { todo: true })
})
t.test('throws', async () => { throw new Error('no such thing') })
`

t.test('asserts that failed are told with what they saw, the tests around them are not', async (t) => {
  const file = path.join(t.testdir({ 'failing.test.mjs': FAILING }), 'failing.test.mjs')
  const { stdout } = await finished(startNode(file, []))
  const failed = failedIn('failing.test.mjs', stdout)
  t.same(
    failed.map(({ name }) => name),
    ['one is two', 'no such thing'],
  )
  t.match(failed[0]?.details, /lineNumber: 4[^]*-2\n *\+1/)
})
