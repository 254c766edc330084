/**
 * Client of a cepe-qa service: `createClient({ url })`, then `client.answer({ question })`. Types are derived from the schemas of the
 * service's API.
 */
export { createClient } from './client.ts'
export type { CallOptions, Client, ClientOptions } from './client.ts'
export { CepeError } from './errors.ts'
export type { ErrorDetails } from './errors.ts'
export type { RetryOptions } from './send.ts'
export type * from './types.ts'
