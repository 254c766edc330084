import { clientKey } from '../../src/config.ts'
import type { AnswerClient } from './client.ts'
import { createHttpClient } from './http.ts'

/**
 * The service at an address that a command was given, asked with the key of its options, else of CEPE_KEY.
 * @throws options_invalid for an address or a key that is none
 */
export function connectTo(url: string, key = clientKey()): AnswerClient {
  return createHttpClient(url, key === undefined ? {} : { key })
}
