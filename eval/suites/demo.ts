import { at } from '../../base/at.ts'
import { demoCorpus, questionFile } from '../datasets/shipped.ts'
import { heading, text } from '../report/blocks.ts'
import { modelProtocol } from '../tasks/open-domain-qa/protocol.ts'
import type { Suite } from './suite.ts'
import { sureAnswers, surenessTable } from './sureness.ts'

/** Questions of each class, so that the demo takes less than ten minutes on two cores. */
const QUESTIONS = 200

/** The shipped corpus and questions: attributes together with unanswerable questions, and free sentences. */
export const demo: Suite = {
  name: 'demo',
  title: 'The demo questions',
  isShipped: true,
  corpus: demoCorpus,
  concurrency: 2,
  // Passages that are read separately may be many, those of one prompt are few.
  ks: ({ mode, k }) => (mode === 'decoder-only' ? [k, k + 2] : [k, 2 * k, 4 * k]),
  measure: async ({ mode, ks, limit = QUESTIONS, ask }) => {
    const common = { limit, dumpPrompts: false }
    const protocol = modelProtocol([mode], [...ks], 'dense', 100)
    const attributes = await ask('attributes', {
      ...common,
      dataset: 'demo, attributes',
      questions: questionFile('test.jsonl'),
      unanswerable: questionFile('unanswerable.jsonl'),
      protocol: { ...protocol, modes: [mode, 'closed-book'] },
    })
    const free = await ask('free', { ...common, dataset: 'demo, free sentences', questions: questionFile('free.jsonl'), protocol })
    const k = at(ks, 0)
    return {
      runs: [attributes, free],
      lead: [
        text('The shipped corpus and questions, asked through the HTTP API of a service started for it.'),
        heading(2, `How sure the answers are (${mode}, k = ${k})`),
        surenessTable([[[], sureAnswers([...attributes.records, ...free.records], mode, k)]]),
      ],
    }
  },
}
