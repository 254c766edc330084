/**
 * The server-sent events of a response's body, as they arrive (HTML standard, section 9.2, as this service writes them: a
 * line `event`, a line `data` of JSON, a blank line). Comments, which only keep the connection open, are left out.
 * @param {ReadableStream<Uint8Array>} body
 * @returns {AsyncGenerator<{event: string, data: object}>}
 */
export async function* eventsOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const blocks = (rest + value).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const fields = new Map(block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]))
      if (fields.has('data')) yield { event: fields.get('event') ?? 'message', data: JSON.parse(fields.get('data')) }
    }
  }
}
