/** The first bytes of a stream, and the stream with them put back. */
export async function peek(bytes: AsyncIterable<Buffer>, wanted: number): Promise<{ head: Buffer; all: AsyncIterable<Buffer> }> {
  const iterator = bytes[Symbol.asyncIterator]()
  const held: Buffer[] = []
  let length = 0
  while (length < wanted) {
    const next = await iterator.next()
    if (next.done === true) break
    held.push(next.value)
    length += next.value.length
  }
  const all = async function* (): AsyncGenerator<Buffer> {
    try {
      yield* held
      for (;;) {
        const next = await iterator.next()
        if (next.done === true) return
        yield next.value
      }
    } finally {
      await iterator.return?.()
    }
  }
  return { head: Buffer.concat(held), all: all() }
}

export function isGzip(head: Buffer): boolean {
  return head[0] === 0x1f && head[1] === 0x8b
}

export function isParquet(head: Buffer): boolean {
  return head.subarray(0, 4).toString('latin1') === 'PAR1'
}

/** JSON lines begin with an object; everything else is taken for a table with a header. */
export function looksLikeJson(head: Buffer): boolean {
  return head
    .toString('latin1')
    .replace(/^\u00ef\u00bb\u00bf/, '')
    .trimStart()
    .startsWith('{')
}
