import { createHash } from 'node:crypto'
import { type Static, Type } from 'typebox'
import { orNull } from '../../../src/text/fields.ts'
import { Compile } from 'typebox/compile'
import type { AnswerResponse } from '../../../src/rag/schema.ts'
import { type AnswerClient, ServiceDefaultsSchema } from '../../client/client.ts'
import { OPEN_DOMAIN_QA, readStored, type Stored } from '../../run/folder.ts'
import { FileSchema, MANIFEST_FIELDS, ProblemsSchema, RECORD_FIELDS } from '../../run/record.ts'
import { answerRequest, type Protocol, ProtocolSchema } from './protocol.ts'

const Milliseconds = Type.Number({ minimum: 0 })

const PredictionSchema = Type.Object({
  method: Type.String(),
  k: Type.Integer(),
  answer: Type.String(),
  confidence: Type.Number(),
  probability_correct: orNull(Type.Number(), "By the service's calibration; null where it has none."),
  finish_reason: orNull(Type.Enum(['stop', 'length'])),
  prompt_sha256: Type.String({ description: 'Of the rendered decoder prompts, joined by NUL.' }),
  prompt_tokens: Type.Integer(),
  context_tokens: Type.Integer(),
  generated_tokens: Type.Integer(),
  in_decoder: Type.Integer({ description: 'Passages in the decoder prompt, from the best.' }),
  in_encoder: Type.Integer(),
  attention: Type.Array(orNull(Type.Number()), {
    description: 'Cross-attention share by rank; null where the encoder did not see the passage.',
  }),
  timings_ms: Type.Object({ queue: Milliseconds, encode: Milliseconds, generate: Milliseconds, total: Milliseconds }),
  same_as_k: Type.Optional(
    Type.Integer({ description: "The decoder's window was full at this smaller k already: the prompt is the same, and so is the answer." }),
  ),
})
export type Prediction = Static<typeof PredictionSchema>

const RetrievalSchema = Type.Object({
  ids: Type.Array(Type.String(), { description: 'Passages, best first.' }),
  scores: Type.Array(orNull(Type.Number())),
  answer_ranks: Type.Array(Type.Integer(), { description: 'Ranks whose passage holds a gold answer.' }),
  gold_rank: orNull(Type.Integer(), 'Rank of the passage that the question was written about.'),
  timings_ms: orNull(Type.Object({ embed: Milliseconds, retrieve: Milliseconds, total: Milliseconds }), 'null for supplied passages.'),
})

const Texts = Type.Array(Type.String())
const PromptSchema = Type.Object({ method: Type.String(), k: Type.Integer(), decoder: Texts, encoder: Texts })

/** One line of predictions.jsonl: a question with all of its answers, or the reason why it was skipped. */
const RecordSchema = Type.Object({
  ...RECORD_FIELDS,
  question: Type.String(),
  answers: Type.Array(Type.String()),
  answerable: Type.Boolean(),
  demonstrations: Type.Array(Type.String(), { description: 'Ids of the demonstrations.' }),
  has_gold_passage: Type.Boolean(),
  retrieval: orNull(RetrievalSchema),
  predictions: Type.Array(PredictionSchema),
  prompts: Type.Optional(Type.Array(PromptSchema)),
})
export type EvalRecord = Static<typeof RecordSchema>

/** What a run measures: a change of any field makes another run. */
const SubjectSchema = Type.Object({
  version: Type.Integer({ description: 'Of how questions are asked.' }),
  dataset: Type.String({ description: 'nq, triviaqa, popqa, or the name of the question file.' }),
  questions: FileSchema,
  passages: orNull(FileSchema),
  train: orNull(FileSchema),
  unanswerable: orNull(FileSchema),
  limit: orNull(Type.Integer(), 'Questions drawn with the seed; null for all.'),
  protocol: ProtocolSchema,
  reader: Type.String({ description: 'Model id: name, revision and precision.' }),
  service_prompt: Type.Optional(
    Type.String({ description: "SHA-256 of the prompt of a fixed question: changes with the service's demonstrations." }),
  ),
  retriever: orNull(Type.String()),
  index: orNull(Type.Object({ table: Type.String(), version: Type.Integer(), passages: Type.Integer() })),
  dump_prompts: Type.Boolean(),
  chat_template: Type.Optional(Type.String({ description: 'Of the service; absent without one.' })),
  instruction: Type.Optional(Type.String()),
  calibration: Type.Optional(Type.String({ description: 'When it was fitted; absent without one.' })),
})
export type Subject = Static<typeof SubjectSchema>

/** manifest.json of a run folder. */
const QaManifestSchema = Type.Object({
  task: Type.Literal(OPEN_DOMAIN_QA),
  subject: SubjectSchema,
  data: Type.Object({ answerable: Type.Integer(), unanswerable: Type.Integer(), problems: ProblemsSchema }),
  service: Type.Optional(ServiceDefaultsSchema),
  ...MANIFEST_FIELDS,
})
export type QaManifest = Static<typeof QaManifestSchema>

/** Asks the pipeline for its models, its own prompt and its index; options that the model does not support are rejected here. */
export async function identify(
  client: AnswerClient,
  protocol: Protocol,
): Promise<Pick<Subject, 'reader' | 'service_prompt' | 'retriever' | 'index'>> {
  const isOwn = protocol.shots === null
  const method = isOwn ? 'decoder-only' : 'closed-book'
  const setting = { method, k: isOwn ? 1 : 0, request: { mode: method } } as const
  const given = { passages: [{ id: 'none', title: 'None', text: 'None.' }], demonstrations: isOwn ? null : [] }
  const probe = await client.answer({ ...answerRequest('which model is this', setting, given, protocol), max_new_tokens: 1 })
  const { reader } = probe.model
  const own = isOwn && { service_prompt: promptHash(probe) }
  if (protocol.retrieval === 'supplied') return { reader, ...own, retriever: null, index: null }
  const found = await client.search({ query: 'which index is this', k: 1, method: protocol.retrieval })
  return { reader, ...own, retriever: protocol.retrieval === 'text' ? 'BM25' : found.model.retriever, index: found.index }
}

/** SHA-256 of the decoder prompts of an answer, joined by NUL. */
export function promptHash({ prompts = [] }: Pick<AnswerResponse, 'prompts'>): string {
  return createHash('sha256').update(prompts.join('\0')).digest('hex')
}

export const QA_RUNS = { manifest: Compile(QaManifestSchema), record: Compile(RecordSchema) }

export type StoredRun = Stored<QaManifest, EvalRecord>

/** Reads a run of open-domain question answering. @throws run_invalid */
export function readRun(folder: string): Promise<StoredRun> {
  return readStored(folder, QA_RUNS)
}
