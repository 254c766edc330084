import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { METHODS, type Method } from '../../../src/rag/schema.ts'
import { createInProcessClient } from '../../client/in-process.ts'
import { readDataset } from '../../datasets/read.ts'
import { answerFinder, recallAt } from '../../metrics/retrieval.ts'

const DEPTH = 5

/**
 * recall@5 of each search method: `retrieval-methods.js <corpus> <questions> [every n-th question]`.
 * The corpus is indexed into a folder of its own, as a first start does, which also measures the weight of hybrid searches.
 */
async function compare(corpus: string, questionFile: string, stride: number): Promise<void> {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-methods-'))
  try {
    const client = await createInProcessClient({ INDEX_DIR: dir, CORPUS: corpus })
    try {
      const { questions } = await readDataset(questionFile)
      const asked = questions.filter(({ answerable }, i) => answerable && i % stride === 0)
      const found = new Map<Method, number>(METHODS.map((method) => [method, 0]))
      for (const { question, answers } of asked) {
        const holdsAnswer = answerFinder(answers)
        for (const method of METHODS) {
          const { passages } = await client.search({ query: question, k: DEPTH, method })
          const ranks = passages.flatMap(({ text, rank }) => (holdsAnswer(text) ? [rank] : []))
          found.set(method, (found.get(method) ?? 0) + recallAt(ranks, DEPTH))
        }
      }
      const shares = [...found].map(([method, count]) => `${method} ${(count / asked.length).toFixed(3)}`)
      process.stdout.write(`${path.basename(questionFile)}, ${asked.length} questions, recall@${DEPTH}: ${shares.join(', ')}\n`)
    } finally {
      await client.close()
    }
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

const [corpus, questions, stride = '1'] = process.argv.slice(2)
if (corpus === undefined || questions === undefined) {
  process.stderr.write('usage: retrieval-methods.js <corpus> <questions> [every n-th question]\n')
  process.exitCode = 1
} else await compare(corpus, questions, Math.max(1, Number(stride) || 1))
