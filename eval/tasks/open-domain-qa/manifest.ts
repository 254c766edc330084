import { Type, type Static } from '#typebox'
import type { Dataset } from '../../datasets/question-set.ts'
import type { AnswerClient } from '../../client/client.ts'
import { EnvironmentSchema, FileSchema, ProblemSchema, ResumedSchema } from '../../runner/manifest.ts'
import { answerRequest, ProtocolSchema, type Protocol } from './protocol.ts'

const NullableString = Type.Union([Type.String(), Type.Null()])

/** Increased when the same options give other answers: earlier runs are rejected, never mixed. */
export const RUN_VERSION = 2

/** What a run measures: a change of any field makes another run. */
const SubjectSchema = Type.Object({
  version: Type.Optional(
    Type.Integer({ description: 'Of how questions are asked: 2 keeps test questions out of the demonstrations; absent: before.' }),
  ),
  dataset: Type.String({ description: 'nq, triviaqa, popqa, or the name of the question file.' }),
  questions: FileSchema,
  passages: Type.Union([FileSchema, Type.Null()]),
  train: Type.Union([FileSchema, Type.Null()]),
  unanswerable: Type.Union([FileSchema, Type.Null()]),
  limit: Type.Union([Type.Integer(), Type.Null()], { description: 'Questions drawn with the seed; null for all.' }),
  protocol: ProtocolSchema,
  reader: Type.String({ description: 'Model id: name, revision and precision.' }),
  retriever: NullableString,
  index: Type.Union([Type.Object({ table: Type.String(), version: Type.Integer(), passages: Type.Integer() }), Type.Null()]),
  dump_prompts: Type.Boolean(),
})
export type Subject = Static<typeof SubjectSchema>

/** manifest.json of a run folder. */
export const QaManifestSchema = Type.Object({
  subject: SubjectSchema,
  data: Type.Object({ answerable: Type.Integer(), unanswerable: Type.Integer(), problems: Type.Array(ProblemSchema) }),
  environment: EnvironmentSchema,
  started_at: Type.String(),
  resumed: ResumedSchema,
})
export type QaManifest = Static<typeof QaManifestSchema>

/** Asks the pipeline for its models and index; options that the model does not support are rejected here. */
export async function identify(client: AnswerClient, protocol: Protocol): Promise<Pick<Subject, 'reader' | 'retriever' | 'index'>> {
  const probe = await client.answer({
    ...answerRequest(
      'which model is this',
      { method: 'closed-book', k: 0, request: { mode: 'closed-book' } },
      { passages: [], demonstrations: [] },
      protocol,
    ),
    max_new_tokens: 1,
  })
  if (protocol.retrieval === 'supplied') return { reader: probe.model.reader, retriever: null, index: null }
  const found = await client.search({ query: 'which index is this', k: 1, method: protocol.retrieval })
  return { reader: probe.model.reader, retriever: protocol.retrieval === 'text' ? 'BM25' : found.model.retriever, index: found.index }
}

export function namedFile({ file, sha256 }: Pick<Dataset, 'file' | 'sha256'>) {
  return { file, sha256 }
}
