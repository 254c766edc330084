import { Type, type TSchema, type Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { CodedError, invalidOption, isErrorCode, orThrow } from '../../base/errors.ts'
import { type AnswerClient, ServiceDefaultsSchema } from './client.ts'
import { clientKey } from '../../src/config.ts'
import { CepeError, createClient, type RetryOptions } from '../../src/client/index.ts'
import { AnswerResponseSchema, SearchResponseSchema } from '../../src/rag/schema.ts'

const InfoSchema = Type.Object({
  reader: Type.Object({ weights: Type.String(), defaults: ServiceDefaultsSchema }),
  calibration: Type.Union([Type.Object({ fitted_at: Type.String() }), Type.Null()]),
})

/** Options of a command that can ask a running service. */
export interface ServiceOptions {
  readonly url?: string
  readonly key?: string
}

/** Busy services, for however long, and limits per minute are waited for; a used-up daily quota would take until tomorrow. */
const RETRY: RetryOptions = { attempts: 6, busyMs: 3_600_000, longestWaitMs: 120_000 }

/**
 * The pipeline of a running service, by the published client. Busy responses (429, 503) without a long wait, and broken connections, are
 * retried; responses are validated, so that another version's are not measured.
 * @param key if the service requires one; never part of a message or a file
 * @throws options_invalid for an invalid address or key
 */
export function createHttpClient(url: string, key?: string, retry: RetryOptions = {}): AnswerClient {
  const client = orThrow(() => createClient({ url, key, retry: { ...RETRY, ...retry } }), rethrow)
  return {
    name: client.url,
    answer: async (request) => checked(AnswerResponseSchema, await client.answer(request).catch(rethrow), `${client.url}/v1/answer`),
    search: async (request) => checked(SearchResponseSchema, await client.search(request).catch(rethrow), `${client.url}/v1/search`),
    defaults: async () => {
      const info = checked(InfoSchema, await client.getInfo().catch(rethrow), `${client.url}/v1/info`)
      const { weights, defaults } = info.reader
      return { ...defaults, weights, ...(info.calibration && { calibration: info.calibration.fitted_at }) }
    },
    close: () => Promise.resolve(),
  }
}

/** The running service that is named; undefined without. @throws options_invalid for a key alone; as createHttpClient */
export function namedService({ url, key }: ServiceOptions): AnswerClient | undefined {
  if (url !== undefined) return createHttpClient(url, key ?? clientKey())
  if (key !== undefined) throw invalidOption('--key', '--key is for a running service: name that with --url.')
  return undefined
}

/** The service that is named, or else the pipeline, which is loaded only if it runs in this process. */
export async function connect(options: ServiceOptions, retrieval: string): Promise<AnswerClient> {
  const service = namedService(options)
  if (service !== undefined) return service
  const { createInProcessClient, createReadingClient } = await import('./in-process.ts')
  return retrieval === 'supplied' ? createReadingClient() : createInProcessClient()
}

function checked<T extends TSchema>(schema: T, value: unknown, route: string): Static<T> {
  const validator = Compile(schema)
  if (validator.Check(value)) return value
  const [error] = validator.Errors(value)
  const message = `${route} does not answer as this version's API does (${error?.instancePath ?? ''} ${error?.message ?? ''}): is it a cepe service of the same version?`
  throw new CodedError('service_unreachable', message)
}

function rethrow(error: unknown): never {
  if (!(error instanceof CepeError)) throw error
  const { code, message, field, cause } = error
  const details = { ...(field !== undefined && { field }), ...(cause !== undefined && { cause }) }
  if (code === 'unexpected_response') throw new CodedError('service_unreachable', message, details)
  if (code === 'options_invalid') throw new CodedError(code, `The service (--url, --key or CEPE_KEY): ${message}`, details)
  const remedy = code === 'unauthorized' ? ' (here: --key, or CEPE_KEY)' : ''
  throw new CodedError(isErrorCode(code) ? code : 'internal', message + remedy, details)
}
