/** A request without a response after this time counts as hung. */
const HUNG_MS = 60_000

export interface Sent {
  /** 0 for a broken connection, -1 for no response. */
  readonly status: number
  readonly body: unknown
}

export interface Call {
  readonly path: string
  readonly method?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends one request and reads its response; never rejects. */
export async function send(url: string, { path, method = 'POST', body, headers = {} }: Call): Promise<Sent> {
  const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body)
  try {
    const response = await fetch(url + path, {
      method,
      headers: { ...(text !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(text !== undefined && { body: text }),
      signal: AbortSignal.timeout(HUNG_MS),
    })
    return { status: response.status, body: await response.text() }
  } catch (error) {
    return { status: error instanceof Error && error.name === 'TimeoutError' ? -1 : 0, body: null }
  }
}
