import compress from '@fastify/compress'
import { constants } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { CodedError } from '../../../base/errors.ts'
import { hasBody } from './bodies.ts'

/** Smaller responses fit into one packet anyway. */
const LEAST_BYTES = 1024
/** Up to this size, synchronous compression (a third of a millisecond) is cheaper than a stream. */
const AT_ONCE_BYTES = 16 * 1024

/** Complete texts only. A compressor would delay the parts of event streams and JSON lines. */
const TYPES = /^(?:application\/json|text\/(?:html|css|javascript|plain))(?:;|$)/

/**
 * gzip for clients that accept it. Admin routes are excluded: the size of compressed responses can reveal secrets next to
 * attacker-controlled text (BREACH). Request bodies are never decompressed: a Content-Encoding is rejected, except for gzip of a corpus,
 * which is recognised by its first bytes.
 */
export async function compression(app: FastifyInstance): Promise<void> {
  app.addHook('onRoute', (route) => {
    if (route.url.startsWith('/v1/admin')) route.compress = false
  })
  app.addHook('onRequest', (request, reply, next) => {
    const { 'content-encoding': coding = 'identity', 'content-type': type = '' } = request.headers
    const isCorpus = request.routeOptions.config.upload === 'corpus' && !/^(?:application\/json|multipart\/)/i.test(type)
    const taken = coding.toLowerCase() === 'identity' || (isCorpus && /^(?:x-)?gzip$/i.test(coding))
    if (taken || request.is404 || !hasBody(request)) return next()
    void reply.header('accept-encoding', 'identity')
    const message = `Compressed request bodies are not supported (Content-Encoding: ${coding.slice(0, 100)}). Send the body uncompressed.`
    next(new CodedError('unsupported_media_type', message, { field: 'content-encoding' }))
  })
  await app.register(compress, {
    encodings: ['gzip'],
    globalDecompression: false,
    customTypes: TYPES,
    threshold: LEAST_BYTES,
    syncThreshold: AT_ONCE_BYTES,
    zlibOptions: { level: constants.Z_BEST_SPEED },
  })
}
