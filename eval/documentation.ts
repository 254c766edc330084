import path from 'node:path'
import { present } from '../base/at.ts'
import { createHttpClient } from './client/http.ts'
import { questionFile } from './datasets/shipped.ts'
import { finishScript, measure, runScript, withService } from './demo/script.ts'
import {
  askedQuestions,
  checkListed,
  QUESTIONS_HEADER,
  questionRows,
  SHARES_HEADER,
  shareRows,
  sourcesOf,
} from './documentation/answers.ts'
import { heading, table, text } from './report/blocks.ts'
import { modelProtocol } from './tasks/open-domain-qa/protocol.ts'

const RECALL_DEPTH = 20

/**
 * The shipped models on a folder of documentation that they were not trained on: the folder is indexed by the command line, and the
 * questions that a person wrote from its files are asked through the HTTP API with the service's defaults.
 */
const wanted = { options: ['report'], folder: 'of the files that eval/questions/documentation.sha256 lists' } as const
await runScript('eval:documentation', wanted, async (options) => {
  const questions = questionFile('documentation.jsonl')
  const files = await checkListed(options.folder, questionFile('documentation.sha256'))
  const { run, k } = await withService('documentation', { settings: { CEPE_CORPUS: '' }, documents: options.folder }, async (url, work) => {
    const client = createHttpClient(url)
    const { mode, k } = await present(client.defaults)()
    const asked = {
      dataset: 'documentation',
      questions,
      unanswerable: questionFile('documentation_unanswerable.jsonl'),
      protocol: modelProtocol([mode], [k], 'hybrid', RECALL_DEPTH),
      dumpPrompts: true,
    }
    return { run: await measure(client, asked, { folder: path.join(work, 'run'), concurrency: 1 }), k }
  })
  const asked = askedQuestions(run.records, await sourcesOf(questions))
  const shares = shareRows(asked, k)
  await finishScript(options, [run], {
    title: 'The shipped models on public documentation',
    lead: [
      text(
        `${asked.length} questions of a person on ${files} files of public documentation, written from the files before any of them was asked. The files are indexed by the command line, and the questions asked through the HTTP API of a service started for it, with its defaults.`,
      ),
      table(SHARES_HEADER, shares),
      heading(2, 'Every question'),
      table(QUESTIONS_HEADER, questionRows(asked), 4),
    ],
    lines: shares.map((row) => row.join(': ')),
  })
})
