import t from 'tap'
import { createReadingClient } from '../../eval/client/in-process.ts'
import { builtFixture } from '../fixtures/built-fixture.ts'

const PASSAGES = [{ id: '1', title: 'w20', text: 'w21 w22 w23' }]

await t.test('an evaluation with supplied passages asks and judges as the service does', async (t) => {
  const settings = { READER_DIR: await builtFixture(t, 'cepe-tiny-gqa'), READER_CHECKPOINT: '', DEMONSTRATIONS: '' }
  const answered = async (own: object) => {
    const client = await createReadingClient({ ...settings, ...own })
    t.teardown(() => client.close())
    return client.answer({
      question: 'w24 w25',
      passages: PASSAGES,
      mode: 'decoder-only',
      context_tokens: 4,
      max_new_tokens: 2,
      include_prompts: true,
    })
  }
  const plain = await answered({ MIN_CONFIDENCE: 0 })
  t.notMatch(plain.prompts?.[0], /INST/)
  t.equal(plain.abstained, false)
  const templated = await answered({ CHAT_TEMPLATE: 'inst', MIN_CONFIDENCE: 1 })
  t.match(templated.prompts?.[0], /^\[INST\] [^]* \[\/INST\]$/, 'CEPE_CHAT_TEMPLATE')
  t.equal(templated.abstained, true, 'CEPE_MIN_CONFIDENCE')
})
