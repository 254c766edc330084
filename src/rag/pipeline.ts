import { modelId } from '../../models/manifest.ts'
import type { Admission, RunOptions } from '../inference/contract.ts'
import type { ChatTemplate } from '../text/chat-template.ts'
import type { Demonstration } from '../text/prompt.ts'
import type { Calibration } from './calibration.ts'
import { withAdmission, type AdmittedRun, explanationCost, questionCost } from './admission.ts'
import { type Retriever, gatherPassages, type Gathered, type RankedPassage } from './retrieve.ts'
import { candidatesFor, firstOf, type RankingModels, rerankAdmitted, rerankCost } from './rerank.ts'
import type { AnswerResponse, ChatQuestion } from './schema.ts'
import { resolveRequest, type ResolvedQuestion } from './resolve-request.ts'
import { unknownCollection } from '../../index/collections/contract.ts'

export interface AnswerServices extends RankingModels {
  readonly retriever: Retriever
  /** Admission control: a question takes a permit before any work is done for it. */
  readonly admission: Admission
  /** The service's worked examples, in order of use. */
  readonly demonstrations: readonly Demonstration[]
  /** Calibration of this reader; without it no probabilities are returned. */
  readonly calibration?: Calibration | undefined
  /** Default minimum probability (or confidence) of an answer; 0 if absent. */
  readonly minConfidence?: number | undefined
  /** Default chat template of prompts; none if absent. */
  readonly chatTemplate?: ChatTemplate
  /** Default chat template of chats; chatTemplate if absent. */
  readonly chatRouteTemplate?: ChatTemplate
  /** URL of a passage's file, if it can be opened; none if absent. */
  readonly fileOf?: FileLink
}

/** @param collection of the passage, if named @param isBound whether the key may use certain collections only */
type FileLink = (
  passage: Pick<RankedPassage, 'id' | 'source' | 'metadata'>,
  collection?: string,
  isBound?: boolean,
) => string | undefined | Promise<string | undefined>

/** An admitted question with its passages. */
export interface Asked extends Gathered {
  readonly resolved: ResolvedQuestion
  /** Options with the remaining time, admitted, with the cost of one reading. */
  readonly run: () => AdmittedRun
}

/** Admits a question, retrieves its passages and reads them. @param choices to score as answers */
export async function withPassages<Response>(
  { request, choices }: { readonly request: ChatQuestion; readonly choices?: readonly string[] },
  services: AnswerServices,
  run: RunOptions,
  read: (asked: Asked) => Promise<Response>,
): Promise<Response> {
  const { manifest } = services.reader
  const resolved = resolveRequest(request, manifest, services.demonstrations, services.chatTemplate)
  const cost = questionCost(resolved, manifest, choices)
  const candidates = request.rerank ? (request.passages?.length ?? candidatesFor(resolved.k)) : resolved.k
  const ordering = request.rerank ? rerankCost(resolved.question, candidates, resolved.contextTokens, services) : 0
  const extraCost = ordering + (request.explain ? explanationCost(resolved, manifest) : 0)
  return withAdmission(services.admission, { kind: resolved.mode, cost, extraCost }, run, async (left) => {
    const gathered = await gatherPassages(request, candidates, services.retriever, left())
    if (!request.rerank) return read({ ...gathered, resolved, run: left })
    const { question: query, contextTokens, k } = resolved
    const reranked = await rerankAdmitted({ query, passages: gathered.passages, contextTokens }, services, left())
    return read({ ...gathered, passages: firstOf(gathered.passages, reranked, k), resolved, run: left })
  })
}

/** True if passages were requested and none were found: any answer would be invented. */
export function hasNoPassages({ resolved, passages }: Asked): boolean {
  return passages.length === 0 && resolved.wantsPassages
}

/** Models and index that answered. */
export function sources({ reader }: AnswerServices, { found }: Gathered): Pick<AnswerResponse, 'model' | 'index'> {
  return { model: { reader: modelId(reader.manifest), retriever: found?.model ?? null }, index: found?.index ?? null }
}

/** The same services over the collection that a request names; as they are where it names none. @throws unknown_collection */
export async function inCollection<Services extends Pick<AnswerServices, 'retriever' | 'fileOf'>>(
  services: Services,
  name: string | undefined,
): Promise<Services> {
  if (name === undefined) return services
  const { retriever, fileOf } = services
  const index = await retriever.collection?.(name)
  if (index === undefined) throw unknownCollection(name)
  return { ...services, retriever: { ...retriever, index }, ...(fileOf && { fileOf: (passage) => fileOf(passage, name) }) }
}
