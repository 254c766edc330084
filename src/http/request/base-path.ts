import type { FastifyRequest } from 'fastify'

/** Returns the path for routing. A proxy may pass requests on with or without the base path; both work. */
export function withoutBasePath(basePath: string): (request: { readonly url?: string | undefined }) => string {
  return ({ url = '/' }) => {
    if (basePath === '' || !url.startsWith(basePath)) return url
    const rest = url.slice(basePath.length)
    if (rest.startsWith('/')) return rest
    return rest === '' || rest.startsWith('?') ? `/${rest}` : url
  }
}

/** Whether a request is for the base path without a trailing slash, which would break relative links of a page. */
export function needsSlash(request: FastifyRequest, basePath: string): boolean {
  return basePath !== '' && request.originalUrl.split('?')[0] === basePath
}
