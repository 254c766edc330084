import path from 'node:path'
import type { AnswerClient } from './client/client.ts'
import { readDataset, readPassages, withPassages } from './datasets/read.ts'
import { fileHash } from './datasets/records.ts'
import type { Dataset, EvalQuestion } from './datasets/types.ts'
import { CodedError } from '../base/errors.ts'
import { environment, identify, namedFile, type Manifest } from './run/manifest.ts'
import { checkDemonstrationSource, largestK, retrievalDepth, type Protocol } from './run/protocol.ts'
import { sampleIndices, seededRandom } from '../base/random.ts'

/** What to evaluate: the command line's options, understood. */
export interface EvaluationOptions {
  /** nq, triviaqa or popqa for the published datasets; else a name for the report. */
  readonly dataset: string
  readonly questions: string
  /** File with retrieved passages for the questions; their own `ctxs` where the protocol says supplied and this is absent. */
  readonly passages?: string
  /** File that demonstrations are drawn from. */
  readonly train?: string
  /** Questions without an answer in the corpus. */
  readonly unanswerable?: string
  /** Questions drawn with the seed; all where absent. */
  readonly limit?: number
  readonly protocol: Protocol
  readonly dumpPrompts: boolean
}

export interface Prepared {
  readonly manifest: Manifest
  /** In the order of the file, the unanswerable ones last. */
  readonly questions: readonly EvalQuestion[]
  readonly pool: readonly EvalQuestion[]
}

/**
 * Reads the data and asks the pipeline what it is.
 * @throws dataset_invalid, options_invalid
 */
export async function prepare(options: EvaluationOptions, client: AnswerClient): Promise<Prepared> {
  const { protocol, limit } = options
  const supplied = protocol.retrieval === 'supplied'
  const keepPassages = supplied ? retrievalDepth(protocol) : 0
  const complete = async (dataset: Dataset): Promise<Dataset> =>
    supplied
      ? withPassages(
          dataset,
          options.passages === undefined ? undefined : await readPassages(options.passages, keepPassages),
          largestK(protocol),
        )
      : dataset

  const answerable = await complete(await readDataset(options.questions, { keepPassages }))
  const unanswerable =
    options.unanswerable === undefined
      ? undefined
      : await complete(await readDataset(options.unanswerable, { answerable: false, keepPassages }))
  const train = await trainingQuestions(options, answerable)
  checkDemonstrationSource(protocol, train?.questions.length ?? 0)
  const identity = await identify(client, protocol)
  if (identity.index && identity.index.passages < largestK(protocol)) {
    throw new CodedError(
      'options_invalid',
      `The index ${identity.index.table} has ${identity.index.passages} passages, fewer than k = ${largestK(protocol)}: lower --k.`,
    )
  }

  const asked = sample(answerable.questions, limit, protocol.seed)
  const without = sample(unanswerable?.questions ?? [], limit, protocol.seed).map((question) => ({
    ...question,
    id: `unanswerable ${question.id}`,
  }))
  return {
    questions: [...asked, ...without],
    pool: train?.questions ?? [],
    manifest: {
      subject: {
        dataset: options.dataset,
        questions: namedFile(answerable),
        passages:
          options.passages === undefined ? null : { file: path.basename(options.passages), sha256: await fileHash(options.passages) },
        train: train ? namedFile(train) : null,
        unanswerable: unanswerable ? namedFile(unanswerable) : null,
        limit: limit ?? null,
        protocol,
        ...identity,
        dump_prompts: options.dumpPrompts,
      },
      data: {
        answerable: asked.length,
        unanswerable: without.length,
        problems: [
          ...problemsOf(answerable),
          ...problemsOf(unanswerable, ' (unanswerable)'),
          ...(train === answerable ? [] : problemsOf(train, ' (training file)')),
        ],
      },
      environment: environment(client),
      started_at: new Date().toISOString(),
      resumed: [],
    },
  }
}

function problemsOf(dataset: Dataset | undefined, which = '') {
  return (dataset?.problems ?? []).map((problem) => ({ ...problem, kind: problem.kind + which, places: [...problem.places] }))
}

/** PopQA has no training split: the authors draw demonstrations from the test file, never the asked question. */
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
