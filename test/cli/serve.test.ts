import t from 'tap'
import { startMessage } from '../../src/cli/serve.ts'

t.test('a service names what can be asked of it: questions, of an indexer the index', (t) => {
  const started = { address: 'http://x:1', hasPassages: true, needsKey: false }
  for (const ROLE of ['all', 'replica'] as const) {
    t.match(startMessage(started, { ROLE }), /Answering.*curl -s http:\/\/x:1\/v1\/answer [^$]+$/s)
    t.match(startMessage({ ...started, needsKey: true }, { ROLE }), /\/v1\/answer .* -H "authorization: Bearer \$CEPE_KEY"\n/)
    t.notMatch(startMessage({ ...started, hasPassages: false }, { ROLE }), /v1\/answer/, 'nothing can be answered yet')
  }
  t.match(startMessage({ ...started, hasPassages: false }, { ROLE: 'all' }), /Try:\n\n {2}npx cepe index add /)
  t.match(startMessage({ ...started, hasPassages: false }, { ROLE: 'replica' }), /Try:\n\n {2}curl -s http:\/\/x:1\/readyz\n/)
  t.match(startMessage(started, { ROLE: 'indexer' }), /jobs.*curl -s http:\/\/x:1\/v1\/admin\/index /s)
  t.end()
})
