import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { at, keptOrMade } from '../../../base/at.ts'
import { CodedError } from '../../../base/errors.ts'

/** 404 for an unknown route, 405 with `Allow` for an unsupported method; before the body is read. */
export function unknownRoutes(app: FastifyInstance): void {
  const routes = new Map<string, { readonly path: RegExp; readonly methods: Set<string> }>()
  app.addHook('onRoute', ({ url, method }) => {
    // Routes of files have patterns of their own.
    if (url.includes('*')) return
    const pattern = url.replaceAll(/:\w+/g, '[^/]+').replaceAll('.', '\\.')
    const { methods } = keptOrMade(routes, url, () => ({ path: new RegExp(`^${pattern}$`), methods: new Set() }))
    for (const name of [method].flat()) methods.add(name)
  })

  const refuse = (request: FastifyRequest, reply: FastifyReply): CodedError => {
    const path = at(request.url.split('?'), 0).replace(/(?<=.)\/$/, '')
    const methods = [...routes.values()].flatMap((route) => (route.path.test(path) ? [...route.methods] : []))
    if (methods.length === 0) return new CodedError('not_found', `There is no ${request.method} ${path}: see /docs for the routes.`)
    const allow = [...new Set(methods)].sort().join(', ')
    void reply.header('allow', allow)
    return new CodedError('method_not_allowed', `${request.method} is not possible at ${path}: use ${allow}.`)
  }
  app.addHook('onRequest', (request, reply, next) => next(request.is404 ? refuse(request, reply) : undefined))
  app.setNotFoundHandler((request, reply) => {
    throw refuse(request, reply)
  })
}
