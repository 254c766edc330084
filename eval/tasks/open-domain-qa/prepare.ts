import path from 'node:path'
import type { AnswerClient, ServiceDefaults } from '../../client/client.ts'
import { readDataset, readPassages, sameQuestion, withPassages } from '../../datasets/read.ts'
import { invalidDataset, namedFile } from '../../datasets/records.ts'
import { type Dataset, type EvalQuestion, ProblemLog } from '../../datasets/question-set.ts'
import { OPEN_DOMAIN_QA } from '../../run/folder.ts'
import { identify, type QaManifest } from './record.ts'
import { openDomainQa } from './scores.ts'
import { startedNow } from '../../run/record.ts'
import { invalidOption } from '../../run/options.ts'
import { checkDemonstrationSource, largestK, retrievalDepth, type Protocol } from './protocol.ts'
import { sampleIndices, seededRandom } from '../../../base/random.ts'

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

/** Chooses the source of passages: the question file, if its questions have any. @throws options_invalid if only some have */
export async function chooseRetrieval(options: EvaluationOptions): Promise<EvaluationOptions> {
  const { retrievalByFile = false, ...rest } = options
  if (!retrievalByFile) return rest
  const { questions } = await readDataset(options.questions, { keepPassages: 1 })
  const withOwn = questions.filter(({ passages }) => passages !== undefined && passages.length > 0).length
  if (withOwn === 0) return rest
  const message = `${withOwn} of the ${questions.length} questions of ${path.basename(options.questions)} have passages (ctxs): choose --retrieval supplied (the others are skipped) or --retrieval dense (all are searched for).`
  if (withOwn < questions.length) throw invalidOption(message)
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

/** Reads the data and identifies the pipeline. @throws dataset_invalid, options_invalid */
export async function prepare(options: EvaluationOptions, client: AnswerClient) {
  const { protocol, limit = null, dataset, passages, dumpPrompts } = options
  const { answerable, unanswerable, supply, source, train } = await readData(options)
  checkDemonstrationSource(protocol, train?.questions.length ?? 0)
  const { service_prompt: prompt, ...identity } = await identify(client, protocol)
  if (identity.index && identity.index.passages < largestK(protocol)) {
    const message = `The index ${identity.index.table} has ${identity.index.passages} passages, fewer than k = ${largestK(protocol)}: lower --k.`
    throw invalidOption(message)
  }
  const service = await client.defaults().catch(() => undefined)
  const { chat_template: template = 'none', instruction = '', calibration } = service ?? {}
  const problemsOf = (read: Pick<Dataset, 'problems'> | undefined, which: string) =>
    (read?.problems ?? []).map((problem) => ({ ...problem, kind: `${problem.kind} (${which})` }))
  const named = (read: Dataset | undefined) => (read === undefined ? null : { file: read.file, sha256: read.sha256 })
  const asked = sample(answerable.questions, limit, protocol.seed)
  const others = sample(unanswerable?.questions ?? [], limit, protocol.seed)
  const without = others.map((question) => ({ ...question, id: `unanswerable ${question.id}` }))
  const ofTrain = source === answerable ? [] : problemsOf(train, 'training file')
  const manifest: QaManifest = {
    task: OPEN_DOMAIN_QA,
    subject: {
      version: openDomainQa.version,
      dataset,
      limit,
      protocol,
      ...identity,
      dump_prompts: dumpPrompts,
      questions: { file: answerable.file, sha256: answerable.sha256 },
      passages: passages === undefined ? null : await namedFile(passages),
      train: named(train),
      unanswerable: named(unanswerable),
      // A chat template has no demonstrations.
      ...(template === 'none' ? prompt !== undefined && { service_prompt: prompt } : { chat_template: template, instruction }),
      ...(calibration !== undefined && { calibration }),
    },
    data: {
      answerable: asked.length,
      unanswerable: without.length,
      problems: [...answerable.problems, ...problemsOf(supply, 'passages'), ...problemsOf(unanswerable, 'unanswerable'), ...ofTrain],
    },
    ...(service && { service }),
    ...startedNow(client),
  }
  // In file order, unanswerable ones last.
  return { manifest, questions: [...asked, ...without], pool: train?.questions ?? [] }
}

/**
 * The data of a run: `supply` of passages from a separate file; `source` of demonstrations is a separate file, or the questions themselves; `train` is it without test questions.
 * @throws dataset_invalid
 */
async function readData(options: EvaluationOptions) {
  const { protocol, passages } = options
  const supplied = protocol.retrieval === 'supplied'
  const keepPassages = supplied ? retrievalDepth(protocol) : 0
  const supply = supplied && passages !== undefined ? await readPassages(passages, keepPassages) : undefined
  const read = async (file: string, answerable: boolean): Promise<Dataset> => {
    const dataset = await readDataset(file, { answerable, keepPassages })
    return supplied ? withPassages(dataset, supply?.byQuestion, largestK(protocol)) : dataset
  }
  const answerable = await read(options.questions, true)
  const unanswerable = options.unanswerable === undefined ? undefined : await read(options.unanswerable, false)
  const source = await trainingQuestions(options, answerable)
  return { answerable, unanswerable, supply, source, train: source && withoutTestQuestions(source, answerable) }
}

/** The pool without test questions; PopQA's, which is the test file itself, is unchanged (only the asked question is excluded). */
function withoutTestQuestions(train: Dataset, tested: Dataset): Dataset {
  if (train === tested) return train
  const asked = new Set(tested.questions.map(({ question }) => sameQuestion(question)))
  const problems = new ProblemLog()
  const questions = train.questions.filter(({ question, id }) => {
    const isTested = asked.has(sameQuestion(question))
    if (isTested) problems.add('training question that is a test question', id)
    return !isTested
  })
  return { ...train, questions, problems: [...train.problems, ...problems.list()] }
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
    const message = `${read.file} has no passages for its questions, and nothing is retrieved: supply a training file with ctxs, or --shots 0.`
    throw invalidDataset(message)
  }
  return read
}

function sample(questions: readonly EvalQuestion[], limit: number | null, seed: number): readonly EvalQuestion[] {
  if (limit === null || limit >= questions.length) return questions
  const drawn = new Set(sampleIndices(questions.length, limit, seededRandom('questions', seed)))
  return questions.filter((_, i) => drawn.has(i))
}
