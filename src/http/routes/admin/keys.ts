import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '#typebox'
import { CodedError } from '../../../../base/errors.ts'
import type { Keys } from '../../../keys/keys.ts'
import type { Quotas } from '../../../keys/quota.ts'
import { KeyRecordSchema } from '../../../keys/record.ts'
import { ADMIN_SECURITY } from '../../auth/auth.ts'
import { errorResponses } from '../../errors/error-body.ts'

export interface AdminKeysOptions {
  readonly keys: Pick<Keys, 'records'>
  readonly quotas: Pick<Quotas, 'used'> | undefined
}

const { sha256: _, ...shown } = KeyRecordSchema.properties
const KeysSchema = Type.Object({
  keys: Type.Array(Type.Object({ ...shown, questions_today: Type.Integer({ description: 'Questions admitted today (UTC).' }) })),
})

/** GET /v1/admin/keys: the keys with their limits and use; neither keys nor hashes. */
export const adminKeysRoutes: FastifyPluginAsyncTypebox<AdminKeysOptions> = (app, { keys, quotas }) => {
  const list = {
    tags: ['operations'],
    security: ADMIN_SECURITY,
    operationId: 'listKeys',
    summary: 'List keys with limits and usage, by name',
  }
  app.get('/v1/admin/keys', { schema: { ...list, response: { 200: KeysSchema, ...errorResponses(401, 403) } } }, ({ holder }) => {
    if (holder?.collections !== undefined)
      throw new CodedError('forbidden', `The key ${holder.name} is bound to collections: list the keys with one that is not.`)
    return { keys: keys.records.map(({ sha256: _, ...record }) => ({ ...record, questions_today: quotas?.used(record.name) ?? 0 })) }
  })
  return Promise.resolve()
}
