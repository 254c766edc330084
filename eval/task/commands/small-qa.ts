import path from 'node:path'
import { packageRoot } from '../../../src/package.ts'
import { prepare } from '../../tasks/open-domain-qa/prepare.ts'
import { readPublished } from '../../tasks/open-domain-qa/published.ts'
import { type Report } from '../../report/report.ts'
import { buildReport } from '../../tasks/open-domain-qa/report.ts'
import { evaluate } from '../../tasks/open-domain-qa/evaluate.ts'
import { readRun } from '../../tasks/open-domain-qa/run.ts'
import { MODEL_PROTOCOL } from '../../tasks/open-domain-qa/protocol.ts'

const QUESTIONS = 10

/** Runs open-domain question answering on some demo questions; its report is a section of another. */
export async function runSmallQa(folder: string): Promise<Report> {
  const { createInProcessClient } = await import('../../client/in-process.ts')
  const client = await createInProcessClient()
  try {
    const prepared = await prepare(
      {
        dataset: 'demo',
        questions: path.join(packageRoot(), 'eval', 'questions', 'test.jsonl'),
        limit: QUESTIONS,
        protocol: {
          modes: ['cepe', 'decoder-only', 'replug', 'closed-book'],
          ks: [2, 10],
          encoder_passages: ['others'],
          ...MODEL_PROTOCOL,
          retrieval: 'dense',
          recall_depth: 10,
          seed: 0,
        },
        dumpPrompts: false,
      },
      client,
    )
    await evaluate({ client, folder, concurrency: 1, onProgress: () => undefined, ...prepared })
  } finally {
    await client.close()
  }
  return buildReport([await readRun(folder)], await readPublished())
}
