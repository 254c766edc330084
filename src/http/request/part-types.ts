import type { FastifyRequest } from 'fastify'

/** Bytes of a part's header that are kept. */
const MOST_HEADER = 16_384
const END = Buffer.from('\r\n\r\n')

/**
 * Content types of a form's files, with their parameters, in the order of the files: the parser drops the parameters. Call before the form
 * is read.
 * @returns the type of the file whose position is given; empty without one
 */
export function partTypes(request: FastifyRequest): (file: number) => string {
  const { 'content-type': whole = '' } = request.headers
  const types: string[] = []
  const boundary = /boundary="?([^";]+)"?/i.exec(whole)?.[1]
  if (boundary === undefined) return () => ''
  const mark = Buffer.from(`--${boundary}\r\n`)
  let held = Buffer.alloc(0)
  request.raw.on('data', (chunk: Buffer) => {
    held = Buffer.concat([held, chunk])
    for (;;) {
      const start = held.indexOf(mark)
      const end = start < 0 ? -1 : held.indexOf(END, start)
      if (end < 0) {
        held = start < 0 ? held.subarray(Math.max(0, held.length - mark.length)) : held.subarray(start).subarray(0, MOST_HEADER)
        return
      }
      const header = held.toString('latin1', start, end)
      const type = /^content-type:\s*(.*)$/im.exec(header)?.[1]?.trim() ?? ''
      if (/^content-disposition:.*filename/im.test(header) || /^application\/octet-stream\b/i.test(type)) types.push(type)
      held = held.subarray(end)
    }
  })
  return (file) => types.at(file) ?? ''
}

/** The encoding that a content type names. */
export function charsetOf(type = ''): string | undefined {
  return /;\s*charset\s*=\s*"?([\w.:-]{1,40})/i.exec(type)?.[1]
}
