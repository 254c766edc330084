import { Type, type Static } from 'typebox'
import { counted, given } from '../../base/at.ts'
import { clipped } from '../../base/sentences.ts'
import { COLLECTION_STATES } from '../../index/collections/contract.ts'
import { READ_LIMITS } from '../../index/read/contract.ts'
import { CollectionNameSchema } from '../../index/table-name.ts'
import { answerQuestion } from '../rag/answer.ts'
import { cited } from '../rag/evidence.ts'
import { cutOff, noAnswerText } from '../rag/no-answer/words.ts'
import {
  AnswerRequestSchema,
  AnswerResponseSchema,
  type Evidence,
  EvidenceSchema,
  LIMITS,
  SearchRequestSchema,
  SearchResponseSchema,
} from '../rag/schema.ts'
import { passageOf, search } from '../rag/search.ts'
import { closed, optionalText, orNull } from '../text/fields.ts'
import { tool } from './contract.ts'
import { sourcesOf } from './source-counts.ts'

/** The only filter that agents can use without knowing the corpus: `list_sources` returns its values. */
const sourceField = optionalText(1000, 'Only passages from this source, as returned by list_sources; empty: those without one.')
/** Collection of a call: the server passes its services to the tool. */
const collectionField = Type.Optional(CollectionNameSchema)

function heading({ id, title, source }: { readonly id: string; readonly title: string; readonly source?: string }): string {
  const named = title === '' ? `passage ${id}` : `${title} (id ${id})`
  return source === undefined || source === '' ? named : `${named}, ${source}`
}

/** Default number of passages: few, since they fill the context window of the caller. */
const DEFAULT_K = 5

const searchTool = tool({
  name: 'search',
  title: 'Search the corpus',
  description:
    'Find the passages most relevant to a question or keywords. Returns whole passages with id, title and source. For a short factual answer use answer.',
  input: closed({
    query: SearchRequestSchema.properties.query,
    k: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMITS.k, default: DEFAULT_K, description: 'Number of passages to return.' })),
    source: sourceField,
    collection: collectionField,
  }),
  output: Type.Object({ passages: SearchResponseSchema.properties.passages }),
  call: async ({ query, k = DEFAULT_K, source }, { answering }, run) => {
    const { passages } = await search({ query, k, ...(source !== undefined && { filter: { source } }) }, answering, run)
    return { passages }
  },
  text: ({ passages }) =>
    passages.length === 0
      ? 'No passage was found.'
      : passages.map((passage) => `[${passage.rank}] ${heading(passage)}\n${passage.text}`).join('\n\n'),
})

const MOST_SHOWN = { saying: 5, attended: 5 }
/** Maximum characters of a passage that does not contain the answer. */
const QUOTE_CHARACTERS = 300

const { question, k } = AnswerRequestSchema.properties
const ShownSchema = Type.Object({
  ...Type.Pick(EvidenceSchema, ['id', 'title', 'source', 'rank']).properties,
  quote: Type.String({ description: 'Sentence that contains the answer, else the beginning of the passage.' }),
  says_answer: Type.Boolean({ description: 'Whether the passage contains the answer.' }),
})
const TOLD = ['answer', 'abstained', 'reason', 'extract', 'suggestion', 'confidence', 'probability_correct', 'finish_reason'] as const
const AnswerSchema = Type.Object({
  ...Type.Pick(AnswerResponseSchema, TOLD).properties,
  evidence: Type.Array(ShownSchema, {
    description: `At most ${MOST_SHOWN.saying} passages: those that contain the answer, else those with most attention. get_passage returns the whole text.`,
  }),
})

const answerTool = tool({
  name: 'answer',
  title: 'Answer from the corpus',
  description:
    'Answer one factual question from the corpus. Returns a short answer, its probability of being right if known, and supporting passages. Ask a complete question: the conversation is not seen.',
  input: closed({ question, k, source: sourceField, collection: collectionField }),
  output: AnswerSchema,
  call: async ({ question, k, source }, { answering }, run) => {
    const request = { question, ...given({ k }), ...(source !== undefined && { filter: { source } }) }
    const response = await answerQuestion(request, answering, run)
    const { answer, abstained, reason, extract, suggestion, confidence, probability_correct, finish_reason, evidence } = response
    const told = { answer, abstained, reason, extract, confidence, probability_correct, finish_reason, evidence: shown(evidence) }
    return { ...told, ...given({ suggestion }) }
  },
  text: (output) =>
    [said(output), ...output.evidence.map((passage) => `[${passage.rank}] ${heading(passage)}\n${passage.quote}`)].join('\n\n'),
})

function shown(evidence: readonly Evidence[]): Static<typeof ShownSchema>[] {
  return cited(evidence, MOST_SHOWN).map(({ id, title, source, rank, text, highlights }) => {
    const [first] = highlights
    return {
      id,
      title,
      ...(source !== undefined && { source }),
      rank,
      quote: first === undefined ? clipped(text, QUOTE_CHARACTERS) : text.slice(first.sentence.start, first.sentence.end),
      says_answer: first !== undefined,
    }
  })
}

function said(output: Static<typeof AnswerSchema>): string {
  const { answer, confidence, probability_correct: probability } = output
  const sure =
    probability === null ? `confidence ${confidence.toFixed(2)}, not calibrated` : `${Math.round(100 * probability)} % likely right`
  return noAnswerText(output) ?? `${answer} (${cutOff(output)}${sure})`
}

const getPassageTool = tool({
  name: 'get_passage',
  title: 'Get a passage',
  description: 'Get a passage by id: title, whole text, source and metadata.',
  input: closed({
    id: Type.String({ minLength: 1, maxLength: READ_LIMITS.idBytes, description: 'Id of a passage, as returned by search and answer.' }),
    collection: collectionField,
  }),
  output: Type.Pick(EvidenceSchema, ['id', 'title', 'text', 'source', 'metadata']),
  call: ({ id }, { index }) => passageOf(index, id),
  text: (passage) =>
    [heading(passage), passage.text, ...(passage.metadata ? [`metadata: ${JSON.stringify(passage.metadata)}`] : [])].join('\n\n'),
})

const SOURCES = { most: 1000, byDefault: 100 }

const listSourcesTool = tool({
  name: 'list_sources',
  title: 'List the sources',
  description: 'List the sources of the passages (files, URLs) with passage counts. search and answer accept a source.',
  input: closed({
    prefix: Type.Optional(Type.String({ maxLength: 1000, description: 'Only sources with this prefix.' })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: SOURCES.most, default: SOURCES.byDefault })),
    collection: collectionField,
  }),
  output: Type.Object({
    sources: Type.Array(
      Type.Object({ source: Type.String({ description: 'Source; empty for passages without one.' }), passages: Type.Integer() }),
      { description: 'Ordered by number of passages, largest first.' },
    ),
    total: Type.Integer({ description: 'Number of matching sources, listed or not.' }),
  }),
  call: async ({ prefix = '', limit = SOURCES.byDefault }, { index }) => {
    const found = (await sourcesOf(index)).filter(({ source }) => source.startsWith(prefix))
    return { sources: found.slice(0, limit).map(({ source, passages }) => ({ source, passages })), total: found.length }
  },
  text: ({ sources, total }) => {
    const lines = sources.map(({ source, passages }) => `${source === '' ? '(no source)' : source}: ${counted(passages, 'passage')}`)
    const rest = total - sources.length
    return [...lines, ...(rest > 0 ? [`and ${rest} more`] : []), ...(total === 0 ? ['No source was found.'] : [])].join('\n')
  },
})

const COLLECTIONS = 100

const listCollectionsTool = tool({
  name: 'list_collections',
  title: 'List the collections',
  description:
    'List the collections that can be searched, with the number of passages of each. Every other tool accepts a collection name.',
  input: closed({
    after: Type.Optional({ ...CollectionNameSchema, description: 'Value of `next` of the previous page.' }),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: COLLECTIONS, default: COLLECTIONS })),
  }),
  output: Type.Object({
    collections: Type.Array(
      Type.Object({
        name: Type.String(),
        passages: orNull(Type.Integer(), 'null if the table cannot be read.'),
        state: Type.Enum([...COLLECTION_STATES], { description: 'Only collections in state ready can be searched.' }),
        default: Type.Boolean({ description: 'True for the collection used if a call names none.' }),
      }),
      { description: 'Ordered by name.' },
    ),
    next: orNull(Type.String(), 'Value of `after` for the next page; null on the last page.'),
  }),
  call: async ({ after, limit = COLLECTIONS }, services) => {
    const { collections, next = null } = await services.collections({ after, limit })
    const listed = collections.map(({ name, passages = null, state, default: meant }) => ({ name, passages, state, default: meant }))
    return { collections: listed, next }
  },
  text: ({ collections, next }) =>
    [
      ...collections.map(
        (one) =>
          `${one.name}: ${one.passages === null ? '? passages' : counted(one.passages, 'passage')}, ${one.state}${one.default ? ', the default' : ''}`,
      ),
      ...(next === null ? [] : [`more after ${next}`]),
    ].join('\n'),
})

/** All tools, in the order shown to clients. */
export const TOOLS = [searchTool, answerTool, getPassageTool, listSourcesTool, listCollectionsTool] as const
