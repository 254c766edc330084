/** Routes beside those under /v1 that answer from the corpus; their paths are those that clients expect. */
const OTHERS: readonly string[] = ['/mcp', '/rerank']

/** Whether a route needs a key where the service has user keys. @param url of the route, not of the request */
export function needsUserKey(url: string | undefined): boolean {
  return url !== undefined && (url.startsWith('/v1/') || OTHERS.includes(url))
}
