import { clientKey } from '../../src/config.ts'
import type { AnswerClient } from './client.ts'
import { createHttpClient } from './http.ts'

/**
 * Connects to the service at an address, with the key from the options or CEPE_KEY.
 * @throws options_invalid for an invalid address or key
 */
export function connectTo(url: string, key = clientKey()): AnswerClient {
  return createHttpClient(url, key === undefined ? {} : { key })
}
