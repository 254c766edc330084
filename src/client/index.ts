/** Client of a cepe-qa service: `createClient({ url })`, then `client.answer({ question })`. Types are derived from the API's schemas. */
export { createClient } from './client.ts'
export type { CallOptions, Client, ClientOptions } from './client.ts'
export { CepeError } from './errors.ts'
export type { ErrorDetails } from './errors.ts'
export type { RetryOptions } from './send.ts'
export type * from './types.ts'
