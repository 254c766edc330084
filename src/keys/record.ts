import { createHash } from 'node:crypto'
import { Type, type Static } from 'typebox'
import { type CodedError, invalidConfig } from '../../base/errors.ts'
import { TABLE_NAME } from '../../index/table-name.ts'

/** user: asks questions. admin: also changes the index. */
export const ROLES = ['user', 'admin'] as const

const positive = (description: string) => Type.Optional(Type.Integer({ description, minimum: 1, maximum: 1_000_000_000 }))

/** Stored form of a key: its hash, never the key. Without a field that it does not know: one with a damaged name would be lost. */
export const KeyRecordSchema = Type.Object(
  {
    name: Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$' }),
    role: Type.Enum([...ROLES]),
    sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
    created_at: Type.String(),
    revoked_at: Type.Optional(Type.String()),
    requests_per_minute: positive('Requests per minute.'),
    questions_per_day: positive('Questions admitted per day (UTC).'),
    collections: Type.Optional(
      Type.Array(Type.String({ pattern: TABLE_NAME }), {
        description: 'Collections that the key may use; absent for all. The first is the default.',
        minItems: 1,
        maxItems: 100,
        uniqueItems: true,
      }),
    ),
  },
  { additionalProperties: false },
)
export type KeyRecord = Static<typeof KeyRecordSchema>

/** SHA-256 of a key, as stored. */
export function hashKey(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}

/** The error of a folder of keys that cannot be read or written to. */
export function keysFailed(message: string, cause?: unknown): CodedError {
  return invalidConfig('CEPE_KEYS_DIR', message, cause)
}

const CLIENT = 'key:'

/** Client id of a key; distinct from every address. */
export function clientOfKey(name: string): string {
  return CLIENT + name
}

/** Name of the key of a client id; undefined for other clients. */
export function keyOfClient(client: string): string | undefined {
  return client.startsWith(CLIENT) ? client.slice(CLIENT.length) : undefined
}
