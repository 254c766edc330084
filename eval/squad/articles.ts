import pLimit from 'p-limit'
import { answerDocument, type DocumentServices } from '../../src/rag/document.ts'
import { bestOver, exactMatch, f1 } from '../metrics/answer.ts'
import { estimateShare, type Estimate } from '../statistics/bootstrap.ts'
import type { EvalRecord } from '../tasks/open-domain-qa/record.ts'
import type { RealQuestions } from './questions.ts'

export interface ArticleScores {
  readonly exactMatch: Estimate
  readonly f1: Estimate
  /** Mean characters of the articles. */
  readonly characters: number
}

/** Asks questions with their whole article in the request, as POST /v1/documents/answer. */
export async function askArticles(
  records: readonly Pick<EvalRecord, 'id' | 'question' | 'answers'>[],
  articleOf: RealQuestions['articleOf'],
  services: DocumentServices,
  concurrency: number,
): Promise<ArticleScores> {
  const limit = pLimit(concurrency)
  const asked = await Promise.all(
    records.map(({ id, question, answers }) =>
      limit(async () => {
        const article = articleOf.get(question)
        if (article === undefined) throw new Error(`${id} has no article. This is a bug.`)
        const { text } = article
        const load = () => Promise.resolve({ ...article, type: 'text' as const, pages: [], warnings: [] })
        const { answer } = await answerDocument({ form: { question }, bytes: Buffer.byteLength(text), load }, services)
        return { cluster: id, answer, answers, characters: text.length }
      }),
    ),
  )
  const scored = (metric: typeof exactMatch) =>
    estimateShare(
      asked.map(({ cluster, answer, answers }) => ({ cluster, value: bestOver(metric, answer, answers) })),
      0,
    )
  const characters = asked.reduce((sum, article) => sum + article.characters, 0) / asked.length
  return { exactMatch: scored(exactMatch), f1: scored(f1), characters }
}
