import type { FastifyRequest } from 'fastify'

/** Gives the address that routes are looked up by. A proxy may hand requests on with the base path, or without it: both are found. */
export function withoutBasePath(basePath: string): (request: { readonly url?: string | undefined }) => string {
  return ({ url = '/' }) => {
    if (basePath === '' || !url.startsWith(basePath)) return url
    const rest = url.slice(basePath.length)
    if (rest.startsWith('/')) return rest
    return rest === '' || rest.startsWith('?') ? `/${rest}` : url
  }
}

/** Whether a request names the base path itself, without a slash at its end: the relative addresses of a page would miss it there. */
export function needsSlash(request: FastifyRequest, basePath: string): boolean {
  return basePath !== '' && request.originalUrl.split('?')[0] === basePath
}
