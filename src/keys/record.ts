import { createHash, randomBytes } from 'node:crypto'
import { Type, type Static } from 'typebox'

/** user: asks questions. admin: also changes the index. */
const ROLES = ['user', 'admin'] as const

const positive = (description: string) => Type.Optional(Type.Integer({ description, minimum: 1, maximum: 1_000_000_000 }))

/** A key as it is kept on the disk: its hash, never the key. */
export const KeyRecordSchema = Type.Object({
  name: Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$' }),
  role: Type.Enum([...ROLES]),
  sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  created_at: Type.String(),
  revoked_at: Type.Optional(Type.String()),
  requests_per_minute: positive('Requests of any kind in a minute.'),
  questions_per_day: positive('Questions admitted per day (UTC).'),
})
export type KeyRecord = Static<typeof KeyRecordSchema>

/** A key has 256 random bits, so that one fast hash is enough: there is nothing to guess. */
export function newKey(): string {
  return `cepe_${randomBytes(32).toString('base64url')}`
}

/** What is kept of a key: its SHA-256. */
export function hashKey(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}

const CLIENT = 'key:'

/** A key as the client of a request; no address looks like that. */
export function clientOfKey(name: string): string {
  return CLIENT + name
}

/** Name of the key that a client is; undefined where it is none. */
export function keyOfClient(client: string): string | undefined {
  return client.startsWith(CLIENT) ? client.slice(CLIENT.length) : undefined
}
