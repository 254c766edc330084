import path from 'node:path'
import type { AnswerClient, ServiceDefaults } from '../../client/client.ts'
import { readDataset, readPassages, sameQuestion, withPassages } from '../../datasets/read.ts'
import { namedFile } from '../../datasets/records.ts'
import type { Dataset, EvalQuestion } from '../../datasets/question-set.ts'
import { CodedError } from '../../../base/errors.ts'
import { identify, type QaManifest, RUN_VERSION } from './record.ts'
import { OPEN_DOMAIN_QA } from '../../runner/folder.ts'
import { startedNow, storedProblems } from '../../runner/manifest.ts'
import { checkDemonstrationSource, largestK, retrievalDepth, type Protocol } from './protocol.ts'
import { sampleIndices, seededRandom } from '../../../base/random.ts'

/** The parsed options of an evaluation. */
export interface EvaluationOptions {
  /** nq, triviaqa or popqa for the published datasets; else a name for the report. */
  readonly dataset: string
  readonly questions: string
  /** File with retrieved passages; if absent and the protocol is supplied, the questions' own `ctxs`. */
  readonly passages?: string | undefined
  /** File to sample demonstrations from. */
  readonly train?: string | undefined
  /** Questions without an answer in the corpus. */
  readonly unanswerable?: string | undefined
  /** Questions to sample with the seed; all if absent. */
  readonly limit?: number | undefined
  readonly protocol: Protocol
  readonly dumpPrompts: boolean
  /** Retrieval was not specified: questions with passages use them. */
  readonly retrievalByFile?: boolean
}

export interface Prepared {
  readonly manifest: QaManifest
  /** In file order, unanswerable ones last. */
  readonly questions: readonly EvalQuestion[]
  readonly pool: readonly EvalQuestion[]
}

/**
 * Chooses the source of passages if no option does: the question file, if its questions have passages.
 * @throws options_invalid if only some have
 */
export async function chooseRetrieval(options: EvaluationOptions): Promise<EvaluationOptions> {
  const { retrievalByFile = false, ...rest } = options
  if (!retrievalByFile) return rest
  const { questions } = await readDataset(options.questions, { keepPassages: 1 })
  const withOwn = questions.filter(({ passages }) => passages !== undefined && passages.length > 0).length
  if (withOwn === 0) return rest
  if (withOwn < questions.length)
    throw new CodedError(
      'options_invalid',
      `${withOwn} of the ${questions.length} questions of ${path.basename(options.questions)} have passages (ctxs): choose --retrieval supplied (the others are skipped) or --retrieval dense (all are searched for).`,
    )
  return { ...rest, protocol: { ...rest.protocol, retrieval: 'supplied' } }
}

/** The model's own mode and passages, where neither is given. */
export function followModel(
  options: EvaluationOptions,
  { mode, k }: ServiceDefaults,
  given: { modes: boolean; k: boolean },
): EvaluationOptions {
  const own = { ...(!given.modes && { modes: [mode] }), ...(!given.k && { ks: [Math.max(1, k)] }) }
  return { ...options, protocol: { ...options.protocol, ...own } }
}

/** The data of a run. */
interface Data {
  readonly answerable: Dataset
  readonly unanswerable: Dataset | undefined
  /** Source of demonstrations: a separate file, or the questions themselves. */
  readonly source: Dataset | undefined
  /** The source without test questions. */
  readonly train: Dataset | undefined
}

/**
 * Reads the data and identifies the pipeline.
 * @throws dataset_invalid, options_invalid
 */
export async function prepare(options: EvaluationOptions, client: AnswerClient): Promise<Prepared> {
  const { protocol, limit } = options
  const data = await readData(options)
  checkDemonstrationSource(protocol, data.train?.questions.length ?? 0)
  const identity = await identify(client, protocol)
  if (identity.index && identity.index.passages < largestK(protocol)) {
    throw new CodedError(
      'options_invalid',
      `The index ${identity.index.table} has ${identity.index.passages} passages, fewer than k = ${largestK(protocol)}: lower --k.`,
    )
  }
  const service = await client.defaults?.().catch(() => undefined)
  const asked = sample(data.answerable.questions, limit, protocol.seed)
  const without = sample(data.unanswerable?.questions ?? [], limit, protocol.seed).map((question) => ({
    ...question,
    id: `unanswerable ${question.id}`,
  }))
  return {
    questions: [...asked, ...without],
    pool: data.train?.questions ?? [],
    manifest: {
      task: OPEN_DOMAIN_QA,
      subject: { ...(await subjectOf(options, data)), ...identity, dump_prompts: options.dumpPrompts },
      data: { answerable: asked.length, unanswerable: without.length, problems: allProblems(data) },
      ...(service && { service }),
      ...startedNow(client),
    },
  }
}

/** @throws dataset_invalid */
async function readData(options: EvaluationOptions): Promise<Data> {
  const { protocol, passages } = options
  const supplied = protocol.retrieval === 'supplied'
  const keepPassages = supplied ? retrievalDepth(protocol) : 0
  const complete = async (dataset: Dataset): Promise<Dataset> => {
    if (!supplied) return dataset
    return withPassages(dataset, passages === undefined ? undefined : await readPassages(passages, keepPassages), largestK(protocol))
  }
  const answerable = await complete(await readDataset(options.questions, { keepPassages }))
  const unanswerable =
    options.unanswerable === undefined
      ? undefined
      : await complete(await readDataset(options.unanswerable, { answerable: false, keepPassages }))
  const source = await trainingQuestions(options, answerable)
  return { answerable, unanswerable, source, train: source && withoutTestQuestions(source, answerable) }
}

async function subjectOf({ dataset, passages, limit, protocol }: EvaluationOptions, { answerable, unanswerable, train }: Data) {
  const named = ({ file, sha256 }: Dataset) => ({ file, sha256 })
  return {
    version: RUN_VERSION,
    dataset,
    questions: named(answerable),
    passages: passages === undefined ? null : await namedFile(passages),
    train: train ? named(train) : null,
    unanswerable: unanswerable ? named(unanswerable) : null,
    limit: limit ?? null,
    protocol,
  }
}

function allProblems({ answerable, unanswerable, source, train }: Data) {
  return [
    ...storedProblems(answerable.problems),
    ...storedProblems(unanswerable?.problems ?? [], ' (unanswerable)'),
    ...(source === answerable ? [] : storedProblems(train?.problems ?? [], ' (training file)')),
  ]
}

/** The pool without test questions; PopQA's, which is the test file itself, is unchanged (only the asked question is excluded). */
function withoutTestQuestions(train: Dataset, tested: Dataset): Dataset {
  if (train === tested) return train
  const asked = new Set(tested.questions.map(({ question }) => sameQuestion(question)))
  const kept = train.questions.filter(({ question }) => !asked.has(sameQuestion(question)))
  const left = train.questions.filter(({ question }) => asked.has(sameQuestion(question))).map(({ id }) => id)
  if (left.length === 0) return train
  const problem = {
    kind: 'training question that is a test question',
    count: left.length,
    places: left.slice(0, 5),
    effect: 'skipped' as const,
  }
  return { ...train, questions: kept, problems: [...train.problems, problem] }
}

/** PopQA has no training split: its authors sample demonstrations from the test file, never the asked question. */
async function trainingQuestions(
  { train, dataset, protocol: { shots, retrieval } }: EvaluationOptions,
  questions: Dataset,
): Promise<Dataset | undefined> {
  if (shots === null || shots === 0) return undefined
  if (train === undefined) return dataset === 'popqa' ? questions : undefined
  const read = await readDataset(train, { keepPassages: 1 })
  if (retrieval === 'supplied' && !read.questions.some(({ passages }) => passages?.length)) {
    throw new CodedError(
      'dataset_invalid',
      `${read.file} has no passages for its questions, and nothing is retrieved: supply a training file with ctxs, or --shots 0.`,
    )
  }
  return read
}

function sample(questions: readonly EvalQuestion[], limit: number | undefined, seed: number): readonly EvalQuestion[] {
  if (limit === undefined || limit >= questions.length) return questions
  const drawn = new Set(sampleIndices(questions.length, limit, seededRandom('questions', seed)))
  return questions.filter((_, i) => drawn.has(i))
}
