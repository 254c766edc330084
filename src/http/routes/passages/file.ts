import { CodedError } from '../../../../base/errors.ts'
import { wellFormed } from '../../../../index/passage-metadata.ts'
import { passageOf } from '../../../rag/search.ts'
import { openPassageFile } from '../../../jobs/kept/served-file.ts'
import { errorResponses, mediaResponse } from '../../errors/error-body.ts'
import type { Routes } from '../context.ts'
import { CollectionQuerySchema, ParamsSchema } from './passages.ts'

const TEXT = /\.(?:md|markdown|txt|text|tsv|csv|jsonl|ndjson|json)$/i

/** Media type and disposition. Types without active content are shown inline, all others are downloaded. */
function shownAs(name: string): { readonly type: string; readonly disposition: 'inline' | 'attachment' } {
  if (/\.pdf$/i.test(name)) return { type: 'application/pdf', disposition: 'inline' }
  if (TEXT.test(name)) return { type: 'text/plain; charset=utf-8', disposition: 'inline' }
  return { type: 'application/octet-stream', disposition: 'attachment' }
}

/** Encodes a file name for a header (RFC 5987). */
function quotedName(name: string): string {
  return encodeURIComponent(wellFormed(name)).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** GET /v1/passages/:id/file: the source file of a passage. */
export const passageFileRoutes: Routes = (app, { access, files }) => {
  const schema = {
    tags: ['passages'],
    operationId: 'getPassageFile',
    summary: 'Download the file of a passage (import folder and stored uploads)',
    params: ParamsSchema,
    querystring: CollectionQuerySchema,
    response: {
      200: mediaResponse('The file.', 'application/octet-stream', 'application/pdf', 'text/plain'),
      ...errorResponses(403, 404),
    },
  }
  app.get('/v1/passages/:id/file', { schema }, async (request, reply) => {
    const { id } = request.params
    const index = await access.index(request, request.query.collection)
    if (files === undefined)
      throw new CodedError(
        'forbidden',
        'The service gives out no files: whoever runs it sets CEPE_SERVE_FILES=true, and CEPE_IMPORT_DIR or CEPE_KEEP_UPLOADS_MB.',
        { field: 'id' },
      )
    const passage = await passageOf(index, id)
    const { handle, name, bytes } = await openPassageFile(files, {
      ...passage,
      table: index.table,
      isBound: request.holder?.collections !== undefined,
    })
    const { type, disposition } = shownAs(name)
    void reply.type(type).headers({
      'content-disposition': `${disposition}; filename*=UTF-8''${quotedName(name)}`,
      'content-length': bytes,
      'cache-control': 'private, no-cache',
      // Not for PDF: the viewers of browsers do not run in a sandbox.
      ...(type !== 'application/pdf' && { 'content-security-policy': "sandbox; default-src 'none'" }),
    })
    if (bytes > 0) return reply.send(handle.createReadStream({ end: bytes - 1 }))
    await handle.close()
    return reply.send('')
  })
}
