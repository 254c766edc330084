import { mkdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { CodedError } from '../base/errors.ts'
import { runScript } from './run-script.ts'
import { packageRoot } from '../src/package.ts'
import { createHttpClient } from './client/http.ts'
import { defaultsOf, measure } from './demo/measure.ts'
import { startService } from './demo/service.ts'
import { askedQuestions, QUESTIONS_HEADER, questionRows, SHARES_HEADER, shareRows } from './documentation/answers.ts'
import { checkListed, indexFolder, sourcesOf } from './documentation/files.ts'
import { heading, table, text } from './report/blocks.ts'
import { writeReport } from './report/report.ts'
import { MODEL_PROTOCOL } from './tasks/open-domain-qa/protocol.ts'
import { readPublished } from './tasks/open-domain-qa/published.ts'
import { buildReport } from './tasks/open-domain-qa/report.ts'

const RECALL_DEPTH = 20
const questionFile = (name: string) => path.join(packageRoot(), 'eval', 'questions', name)

/**
 * The shipped models on a folder of documentation that they were not trained on: the folder is indexed by the command line, and the
 * questions that a person wrote from its files are asked through the HTTP API with the service's defaults.
 */
async function documentation(folder: string, reportFolder: string): Promise<void> {
  const questions = questionFile('documentation.jsonl')
  const files = await checkListed(folder, questionFile('documentation.sha256'))
  // Always reindex and measure again: the current parsers, models and service are under test.
  const work = path.join(packageRoot(), 'eval', 'runs', 'documentation')
  await rm(work, { recursive: true, force: true })
  const index = path.join(work, 'index')
  await mkdir(index, { recursive: true })
  const settings = { CEPE_INDEX_DIR: index, CEPE_JOBS_DIR: path.join(index, 'jobs'), CEPE_CORPUS: '', CEPE_LOG_LEVEL: 'warn' } as const
  await indexFolder(folder, settings, index)
  const service = await startService(settings, index)
  try {
    const { method, k } = await defaultsOf(service.url)
    const run = await measure(
      createHttpClient(service.url),
      {
        dataset: 'documentation',
        questions,
        unanswerable: questionFile('documentation_unanswerable.jsonl'),
        protocol: {
          modes: [method],
          ks: [k],
          encoder_passages: ['others'],
          ...MODEL_PROTOCOL,
          retrieval: 'hybrid',
          recall_depth: RECALL_DEPTH,
          seed: 0,
        },
        dumpPrompts: true,
      },
      { folder: path.join(work, 'run'), concurrency: 1 },
    )
    const asked = askedQuestions(run.records, await sourcesOf(questions))
    const shares = shareRows(asked, k)
    const lead = [
      text(
        `${asked.length} questions of a person on ${files} files of public documentation, written from the files before any of them was asked. The files are indexed by the command line, and the questions asked through the HTTP API of a service started for it, with its defaults.`,
      ),
      table(SHARES_HEADER, shares),
      heading(2, 'Every question'),
      table(QUESTIONS_HEADER, questionRows(asked), 4),
    ]
    await writeReport(
      buildReport([run], await readPublished(), { title: 'The shipped models on public documentation', lead }),
      reportFolder,
    )
    process.stdout.write(
      `${shares.map((row) => row.join(': ')).join('\n')}\nReport: ${path.join(reportFolder, 'report.md')} and report.html\n`,
    )
  } finally {
    await service.stop()
  }
}

await runScript('eval:documentation', async () => {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { report: { type: 'string' } } })
  const [folder] = positionals
  if (folder === undefined)
    throw new CodedError('options_invalid', 'Name the folder of the files that eval/questions/documentation.sha256 lists.')
  await documentation(folder, values.report ?? path.join(packageRoot(), 'eval', 'runs', 'documentation'))
})
