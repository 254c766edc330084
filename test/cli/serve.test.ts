import t from 'tap'
import { welcome } from '../../src/cli/serve.ts'

t.test('a service names what can be asked of it: questions, of an indexer the index', (t) => {
  for (const ROLE of ['all', 'replica'] as const) t.match(welcome('http://x:1', { ROLE }), /Answering.*curl -s http:\/\/x:1\/v1\/answer /s)
  t.match(welcome('http://x:1', { ROLE: 'indexer' }), /jobs.*curl -s http:\/\/x:1\/v1\/admin\/index /s)
  t.end()
})
