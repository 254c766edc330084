/** Parses server-sent events (HTML standard, 9.2) as they arrive, `message` if nameless. Ending the iteration closes the connection. */
export async function* serverEvents(body: ReadableStream<Uint8Array>) {
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
    // Other fields and comments are ignored.
  }
}

/** Lines of a UTF-8 body as they arrive, without line ends; the last one may lack its end. */
export async function* lines(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      const [first = '', ...others] = (done ? decoder.decode() : decoder.decode(value, { stream: true })).split('\n')
      rest += first
      for (const next of others) {
        yield rest.replace(/\r$/, '')
        rest = next
      }
      if (done) break
    }
    if (rest !== '') yield rest
  } finally {
    // An earlier break of the connection needs no report here.
    await reader.cancel().catch(() => undefined)
  }
}
