/** Reads the first bytes of a stream, and returns them with the complete stream. */
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
  return { head: Buffer.concat(held), all: resumed(held, iterator) }
}

/** The pieces read from a stream before, and its rest. */
export async function* resumed(held: readonly Buffer[], iterator: AsyncIterator<Buffer>): AsyncGenerator<Buffer, void> {
  try {
    yield* held
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) yield next.value
  } finally {
    await iterator.return?.()
  }
}

const ZSTD = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])

export function isGzip(head: Buffer): boolean {
  return head[0] === 0x1f && head[1] === 0x8b
}

export function isZstd(head: Buffer): boolean {
  return head.subarray(0, 4).equals(ZSTD)
}

export function isParquet(head: Buffer): boolean {
  return head.subarray(0, 4).toString('latin1') === 'PAR1'
}

/** Names an unsupported kind of file, with a remedy; undefined for any other. */
export function foreignKind(head: Buffer): string | undefined {
  const starts = (...bytes: number[]): boolean => bytes.every((byte, i) => head[i] === byte)
  if (starts(0x50, 0x4b, 3, 4)) return zipKind(head)
  if (starts(0x42, 0x5a, 0x68)) return 'is compressed with bzip2: unpack it, or compress it with gzip'
  if (starts(0xfd, 0x37, 0x7a, 0x58, 0x5a)) return 'is compressed with xz: unpack it, or compress it with gzip'
  if (isGzip(head) || isZstd(head)) return 'was compressed twice: unpack it once'
  if (starts(0x25, 0x50, 0x44, 0x46)) return 'is a PDF: extract its text'
  if (head.subarray(0, 4096).includes(0)) return 'holds zero bytes: it is not text in UTF-8'
  return undefined
}

/** Office files are ZIP archives that begin with an entry of a known name. */
function zipKind(head: Buffer): string {
  if (/^(?:\[Content_Types\]\.xml|_rels\/|docProps\/|xl\/|word\/|ppt\/)/.test(head.toString('latin1', 30)))
    return 'is an Office file: save a sheet as CSV, and send a text as a document'
  return head.toString('latin1', 30, 38) === 'mimetype'
    ? 'is an OpenDocument file or an EPUB: save a sheet as CSV, and send a text as a document'
    : 'is a ZIP archive: unpack it'
}

interface TextGuess {
  readonly format: 'jsonl' | 'json' | 'tsv' | 'csv'
  /** Of CSV. */
  readonly delimiter?: string
  /** Lines before the table: Excel's `sep=;`. */
  readonly skipLines?: number
}

/** Guesses the format of a text file: JSON begins with an object or a list; a header without tabs but with commas or semicolons is CSV. */
export function guessText(head: Buffer): TextGuess {
  const text = textOf(head)
  if (text.startsWith('{')) return { format: 'jsonl' }
  if (text.startsWith('[') && /^\[\s*(\{|\]|$)/.test(text)) return { format: 'json' }
  const [line = '', separator] = /^sep=([^\r\n])\r?\n/i.exec(text) ?? []
  if (separator !== undefined && head.toString('latin1').indexOf(line) <= 3) return { format: 'csv', delimiter: separator, skipLines: 1 }
  const header = text.slice(0, text.search(/[\r\n]|$/))
  const delimiter = [',', ';'].find((one) => header.includes(one))
  return header.includes('\t') || delimiter === undefined ? { format: 'tsv' } : { format: 'csv', delimiter }
}

/** If a file is one JSON object: the name of its list of objects, which should be sent instead. @param head of a file taken for JSONL */
export function listInObject(head: Buffer): string | undefined {
  const [, name] = /^\{[^[\]]*?"([^"\\]{1,100})"\s*:\s*\[\s*\{/.exec(textOf(head)) ?? []
  return name
}

/** The text without byte order mark and leading white space. */
function textOf(head: Buffer): string {
  return head
    .toString('latin1')
    .replace(/^\u00ef\u00bb\u00bf/, '')
    .trimStart()
}
