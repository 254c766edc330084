import compress from '@fastify/compress'
import fp from 'fastify-plugin'
import { constants } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { CodedError } from '../../../base/errors.ts'
import { hasBody } from './body-timeout.ts'

/** Smaller answers fit into one packet anyway. */
const LEAST_BYTES = 1024
/** Up to here compressing at once (a third of a millisecond) is less work than a stream. */
const AT_ONCE_BYTES = 16 * 1024

/** Whole texts alone. Event streams and JSON lines are to arrive piece by piece, and a compressor keeps pieces back. */
const TYPES = /^(?:application\/json|text\/(?:html|css|javascript|plain))(?:;|$)/

/**
 * gzip for clients that accept it. Routes of admins are left out: sizes of compressed answers tell what a text that an attacker
 * can choose has in common with one that he cannot see (BREACH). Bodies of requests are never unpacked: one that says it is packed is refused, but for uploads,
 * which are told by their first bytes.
 */
export const compression = fp(async (app: FastifyInstance) => {
  app.addHook('onRoute', (route) => {
    if (route.url.startsWith('/v1/admin')) route.compress = false
  })
  app.addHook('onRequest', (request, reply, next) => {
    const { 'content-encoding': coding = 'identity' } = request.headers
    const taken = coding.toLowerCase() === 'identity' || request.routeOptions.config.upload === true
    if (taken || request.is404 || !hasBody(request)) return next()
    void reply.header('accept-encoding', 'identity')
    next(
      new CodedError(
        'unsupported_media_type',
        `Compressed request bodies are not supported (Content-Encoding: ${coding.slice(0, 100)}). Send the body uncompressed.`,
        {
          field: 'content-encoding',
        },
      ),
    )
  })
  await app.register(compress, {
    encodings: ['gzip'],
    globalDecompression: false,
    customTypes: TYPES,
    threshold: LEAST_BYTES,
    syncThreshold: AT_ONCE_BYTES,
    zlibOptions: { level: constants.Z_BEST_SPEED },
  })
})
