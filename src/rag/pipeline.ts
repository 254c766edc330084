import { modelId } from '../../models/manifest.ts'
import type { Admission, Reader, Reranker, RunOptions } from '../inference/contract.ts'
import type { ChatTemplate } from '../text/chat-template.ts'
import type { Demonstration } from '../text/prompt.ts'
import type { Calibration } from './calibration/calibration.ts'
import { explanationCost, questionCost } from './cost.ts'
import { gatherPassages, type Gathered, type RankedPassage } from './gather.ts'
import { withAdmission, type AdmittedRun } from './admission.ts'
import type { Retriever } from './retrieve.ts'
import { candidatesFor, firstOf, rerankAdmitted, rerankCost } from './rerank.ts'
import type { AnswerResponse, ChatQuestion } from './schema.ts'
import { resolveRequest, type ResolvedQuestion } from './resolve-request.ts'

/** What answering works with. */
export interface AnswerServices {
  readonly reader: Reader
  /** Orders passages where that is wanted; without one the reader does. */
  readonly reranker?: Reranker
  readonly retriever: Retriever
  /** Admission control: a question takes a permit before any work is done for it. */
  readonly admission: Admission
  /** The service's worked examples, in the order in which they are used. */
  readonly demonstrations: readonly Demonstration[]
  /** Of this reader; where absent, probabilities are not told. */
  readonly calibration?: Calibration
  /** Least probability (or confidence) of an answer where a request does not say; 0 where absent. */
  readonly minConfidence?: number
  /** Put around every prompt where a request does not choose; none where absent. */
  readonly chatTemplate?: ChatTemplate
  /** The same for chats; chatTemplate where absent. */
  readonly chatRouteTemplate?: ChatTemplate
  /** Where the file of a passage of the index is to be had; nowhere where absent. */
  readonly fileOf?: (passage: RankedPassage) => string | undefined
}

/** An admitted question with its passages. */
export interface Asked extends Gathered {
  readonly resolved: ResolvedQuestion
  /** The request's own options with the time that is left; admitted already, with the cost of one reading. */
  readonly run: () => AdmittedRun
}

/**
 * Admits a question, retrieves its passages and has it read.
 * @param choices of a question whose answers are scored
 */
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
  return withAdmission(services.admission, { cost, extraCost }, run, async (left) => {
    const gathered = await gatherPassages(request, candidates, services.retriever, left())
    if (!request.rerank) return read({ ...gathered, resolved, run: left })
    const { question: query, contextTokens, k } = resolved
    const reranked = await rerankAdmitted({ query, passages: gathered.passages, contextTokens }, services, left())
    return read({ ...gathered, passages: firstOf(gathered.passages, reranked, k), resolved, run: left })
  })
}

/** True where passages were asked for and there are none: whatever the model said would be invented. */
export function hasNoPassages({ resolved, passages }: Asked): boolean {
  return passages.length === 0 && resolved.wantsPassages
}

/** Models and index that answered. */
export function sources({ reader }: AnswerServices, { found }: Gathered): Pick<AnswerResponse, 'model' | 'index'> {
  return { model: { reader: modelId(reader.manifest), retriever: found?.model ?? null }, index: found?.index ?? null }
}
