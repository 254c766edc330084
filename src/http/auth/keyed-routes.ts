/** Routes outside /v1 that answer from the corpus, with paths that clients expect. */
const OTHERS: readonly string[] = ['/mcp', '/rerank']

/** Whether a route needs a key if the service has user keys. @param url of the route, not of the request */
export function needsUserKey(url: string | undefined): boolean {
  return url !== undefined && (url.startsWith('/v1/') || OTHERS.includes(url))
}
