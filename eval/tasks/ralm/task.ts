import { at, mean } from '../../../base/at.ts'
import { ProblemLog } from '../../datasets/question-set.ts'
import { demoCorpus } from '../../datasets/shipped.ts'
import { figure, table, text, type Block } from '../../report/blocks.ts'
import { taskData, type TaskOptions } from '../../run/options.ts'
import { askedInTurn, type PreparedTask, type ReaderClient, type Task, type TaskItem, type TaskSummary } from '../../run/contract.ts'
import { type Method, methodSettings, nearest, overLength, perplexityOf, scoreText, sizesOf } from '../language/score.ts'
import { isPassageFile, joinTexts, type LanguageText, readTexts, slices } from '../language/texts.ts'

const METHODS = ['cepe', 'full-context', 'replug'] as const satisfies readonly Method[]

interface Sequence extends TaskItem {
  readonly ids: readonly number[]
  readonly contexts: readonly { readonly ids: readonly number[]; readonly score: number }[]
}

/** Retrieval-augmented language modelling: Table 2 of the paper. */
export const ralm: Task = {
  ...taskData('ralm'),
  prepare,
  figures: (summary) => [
    figure(
      'perplexity',
      'Perplexity over the tokens that are read, one line per method.',
      overLength(summary, 'perplexity', perplexityOf, 'tokens read'),
    ),
  ],
  tables: averages,
}

/** The paper's average: over domains, not sequences. */
function averages({ settings }: TaskSummary): Block[] {
  return [
    text('Average over domains.'),
    table(
      ['setting', 'mean of the perplexities of the domains'],
      settings.map((setting) => {
        const domains = setting.groups.filter(({ group }) => group === 'domain').map(({ scores }) => scores['loss']?.mean ?? Number.NaN)
        return [setting.setting, mean(domains).toFixed(3)]
      }),
    ),
  ]
}

async function prepare(options: TaskOptions, client: ReaderClient): Promise<PreparedTask> {
  const { tokens: queryTokens, ...lengths } = sizesOf(options, 'queryTokens', 'score')
  const sizes = { ...lengths, queryTokens }
  const problems = new ProblemLog()
  const { window } = client.manifest.dims
  const settings = methodSettings(options, { allowed: METHODS, sizes, window, described: (k) => `k = ${k}` }, problems)
  const file = options.text('data') ?? demoCorpus()
  const data = await readTexts(file, client.tokenizer)
  const most = Math.max(...options.integers('contexts'))
  const all = isPassageFile(file)
    ? await retrieved(data.texts, { ...sizes, most, domains: options.integer('domains', 1) }, client)
    : data.texts.map((sequence) => ({
        id: sequence.id,
        groups: { domain: sequence.domain },
        ids: sequence.ids.slice(0, sizes.decoderTokens),
        contexts: sequence.contexts ?? [],
      }))
  const items = perDomain(all, options.integer('sequences', 1)).filter(({ id, ids, contexts }) => {
    if (ids.length < sizes.decoderTokens) problems.add(`sequence of fewer than ${sizes.decoderTokens} tokens`, id)
    else if (contexts.length < most) problems.add(`fewer than ${most} contexts`, id)
    return ids.length >= sizes.decoderTokens && contexts.length >= most
  })
  return {
    files: [data],
    problems: problems.list(),
    ...askedInTurn(items, settings, async ({ ids, contexts }, { name, method, contexts: k }) => {
      const used = contexts.slice(0, k)
      const contextIds = used.map((context) => context.ids.slice(0, sizes.contextTokens))
      const scored = { contextIds, ids, scoredTokens: ids.length - queryTokens, contextScores: used.map(({ score }) => score) }
      return { setting: name, ...(await scoreText(method, scored, client, { sinks: 0, recent: 1, stride: 1 })) }
    }),
  }
}

function perDomain(items: readonly Sequence[], most: number): Sequence[] {
  const seen = new Map<string | undefined, number>()
  return items.filter(({ groups: { domain } }) => {
    seen.set(domain, (seen.get(domain) ?? 0) + 1)
    return (seen.get(domain) ?? 0) <= most
  })
}

/** Lengths in tokens, `queryTokens` of the beginning of a sequence; contexts per sequence; articles that are asked about. */
type Retrieval = Readonly<Record<'contextTokens' | 'decoderTokens' | 'queryTokens' | 'most' | 'domains', number>>

/** Sequences and a corpus from articles: alternating parts of the length of a sequence. */
async function retrieved(texts: readonly LanguageText[], sizes: Retrieval, client: ReaderClient): Promise<Sequence[]> {
  const { contextTokens, decoderTokens, queryTokens, most, domains } = sizes
  const pieces = joinTexts(texts, 4 * decoderTokens).flatMap((article, index) =>
    slices(article.ids, decoderTokens).map((ids, i) => ({
      article,
      ids,
      id: `${article.id} @ ${i * decoderTokens}`,
      asked: i % 2 === 0 && index < domains,
    })),
  )
  const chunks = pieces.filter(({ asked }) => !asked).flatMap(({ ids }) => slices(ids, contextTokens))
  const sequences = pieces.filter(({ asked }) => asked)
  const vectors = await client.embed(chunks.map((chunk) => client.tokenizer.decode(chunk)))
  const queries = await client.embed(sequences.map(({ ids }) => client.tokenizer.decode(ids.slice(0, queryTokens))))
  return sequences.map(({ id, ids, article }, i) => ({
    id,
    groups: { domain: article.domain },
    cluster: article.id,
    ids,
    contexts: nearest(at(queries, i), vectors, most).map(({ index, score }) => ({ ids: at(chunks, index), score })),
  }))
}
