import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type, type Static } from 'typebox'
import type { CodedError } from '../../../base/errors.ts'
import type { Collections } from '../../../index/collections/contract.ts'
import type { PassageIndex } from '../../../index/passage-index.ts'
import type { Snapshots } from '../../../index/snapshot-schema.ts'
import type { DocumentParser } from '../../documents/parser.ts'
import type { Embedders } from '../../inference/contract.ts'
import type { Jobs } from '../../jobs/jobs.ts'
import type { ServedFiles } from '../../jobs/kept/served-file.ts'
import type { Keys } from '../../keys/keys.ts'
import type { Quotas } from '../../keys/quota.ts'
import type { DocumentServices } from '../../rag/document.ts'
import { optionalText, orNull } from '../../text/fields.ts'
import type { AnswerServices } from '../../rag/pipeline.ts'
import type { Config } from '../../settings.ts'
import type { Once } from '../idempotency/idempotency.ts'
import type { ProcessStatus } from '../observability/metrics.ts'
import type { CollectionAccess } from '../request/collections.ts'

/** Counts tokens of a text. @param model id of the retriever */
export type CountTokens = (text: string, model: string) => number

/** Default and most of `limit` in lists. */
export const PAGE = 100
const MOST = 1000
/** Query of a page. @param maxLength of the names that it may begin after */
export const pageQuery = (maxLength: number) => ({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MOST, default: PAGE })),
  after: optionalText(maxLength, 'Value of `next` of the previous page.'),
})
export const next = orNull(Type.String(), 'Value of `after` for the next page; null on the last page.')

/** One condition of readiness. */
export const ReadinessCheckSchema = Type.Object({ name: Type.String(), ok: Type.Boolean(), detail: Type.String() })
export type ReadinessCheck = Static<typeof ReadinessCheckSchema>

/** What the HTTP application needs of the service. */
export interface AppServices extends Embedders {
  readonly answering: AnswerServices
  readonly documents: { readonly services: DocumentServices; readonly parser: DocumentParser }
  /** Tokens of a text, up to one more than the retriever's window. */
  readonly countTokens: CountTokens
  /** Tokens of a passage beyond what retriever or reader reads. */
  readonly unreadTokens: CountTokens
  readonly index: PassageIndex
  readonly collections: Collections
  readonly jobs: Jobs
  readonly keys: Keys
  /** Counts of the keys' questions; absent: not counted. */
  readonly quotas?: Pick<Quotas, 'used'>
  /** Why the newest table is not searched here; undefined if it is. */
  readonly newerTable: () => CodedError | undefined
  readonly readiness: () => Promise<readonly ReadinessCheck[]>
  readonly processes: () => readonly ProcessStatus[]
}

/** Dependencies of the routes. */
export interface RouteContext {
  readonly services: AppServices
  readonly config: Config
  readonly version: string
  readonly access: CollectionAccess
  /** Runs the work of requests with the same idempotency key once. */
  readonly once: Once
  /** Folders of the files of passages; undefined if none are served. */
  readonly files: ServedFiles | undefined
  readonly snapshots: Snapshots
}

/** A Fastify instance whose handlers have the types of their schemas. */
export type App = Parameters<FastifyPluginAsyncTypebox>[0]

/** Registers routes. */
export type Routes = (app: App, context: RouteContext) => void | Promise<void>
