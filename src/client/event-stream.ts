/** Parsers of the bodies that a service sends piece by piece. */

export interface ServerEvent {
  /** `message` where it has no name. */
  readonly event: string
  readonly data: string
}

/** Server-sent events (HTML standard, section 9.2) as they arrive. Who stops taking closes the connection. */
export async function* serverEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent, void, undefined> {
  let event = ''
  let data: string[] = []
  for await (const line of lines(body)) {
    if (line === '') {
      if (data.length > 0) yield { event: event === '' ? 'message' : event, data: data.join('\n') }
      event = ''
      data = []
      continue
    }
    const colon = line.indexOf(':')
    const [name, value] = colon < 0 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')]
    if (name === 'event') event = value
    else if (name === 'data') data.push(value)
    // Others, comments among them, say nothing here.
  }
}

/** Lines of a body in UTF-8 as they arrive, without their ends; the last one need not have an end. */
export async function* lines(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      const text = done ? decoder.decode() : decoder.decode(value, { stream: true })
      const [first = '', ...others] = text.split('\n')
      rest += first
      for (const next of others) {
        yield rest.replace(/\r$/, '')
        rest = next
      }
      if (done) break
    }
    if (rest !== '') yield rest
  } finally {
    // Nothing is to be said of a connection that broke before.
    await reader.cancel().catch(() => undefined)
  }
}
