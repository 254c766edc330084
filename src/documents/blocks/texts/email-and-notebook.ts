import { stripVTControlCharacters } from 'node:util'
import { type Address, type Attachment, type Email, default as PostalMime } from 'postal-mime'
import { windowsBytes, withWindowsLetters } from '../../../../index/read/decode.ts'
import { clipped } from '../../../../base/sentences.ts'
import { onCode, reasonOf } from '../../../../base/errors.ts'
import { isObject, parseJson } from '../../../../base/json.ts'
import { DocumentError } from '../../errors.ts'
import { decodedAs, readText } from '../../text.ts'
import { type Block, type BlockDocument, inline, listed, textsOf, Unread } from '../contract.ts'
import { hiddenTexts } from '../markup/html.ts'
import { markdownDocument } from '../markup/markdown.ts'
import { markupBlocks } from '../markup/markup.ts'
import { parseMarkup } from '../markup/tidy.ts'
import { plainBlocks } from './plain.ts'

const MAX_NESTING = 50
/** E-mails inside each other that are read. */
const MAX_ENCLOSED = 10

/** The line before each e-mail of a mailbox. */
const ENVELOPE = /^From \S+ +(?:Sun|Mon|Tue|Wed|Thu|Fri|Sat)\b.{0,40}\d\d:\d\d[^\n]*\n(?=[\w-]+:)/m

/** An e-mail, or those of a mailbox (mbox), each below its subject. @throws document_invalid */
export async function emailDocument(bytes: Uint8Array): Promise<BlockDocument> {
  const parts = Buffer.from(bytes)
    .toString('latin1')
    .replace(/^(?:\u00ef\u00bb\u00bf)?\s*(?=From )|^[^]*/, '')
    .split(ENVELOPE)
    .slice(1)
    .map((mail) => Buffer.from(mail.replace(/^>(?=>*From )/gm, ''), 'latin1'))
  if (parts.length < 2) return mailDocument(parts[0] ?? bytes)
  const mails: BlockDocument[] = []
  const unread = new Unread()
  const skip = onCode(['document_invalid'], () => unread.add('damaged e-mails of the mailbox'))
  for (const part of parts) await mailDocument(part).then((mail) => mails.push(mail), skip)
  const below = (block: Block): Block => (block.kind === 'heading' ? { ...block, level: Math.min(block.level + 1, 6) } : block)
  const blocks = mails.flatMap((mail): Block[] => [{ kind: 'heading', level: 1, text: mail.title }, ...mail.blocks.map(below)])
  return { title: '', blocks, warnings: [...unread.warnings, ...new Set(mails.flatMap(({ warnings = [] }) => warnings))] }
}

/**
 * An e-mail: who wrote it to whom and when, its subject as title, and its text, then the e-mails that it encloses. The HTML is read where
 * it has words that the plain text lacks. Other attachments, and words of the plain text alone, are named in the warnings.
 * @throws document_invalid
 */
async function mailDocument(bytes: Uint8Array, depth = 0): Promise<BlockDocument> {
  const { mail, warnings } = await parsedMail(bytes)
  const head = [
    ['From', named(mail.from === undefined ? [] : [mail.from])],
    ['To', named(mail.to)],
    ['Cc', named(mail.cc)],
    ['Bcc', named(mail.bcc)],
    ['Date', mail.headers.find(({ key }) => key === 'date')?.value ?? ''],
  ]
  const rows = head.flatMap(([name = '', value = '']) => (value === '' ? [] : [`${name}: ${value}`]))
  const text = plainBlocks(withFewMarks(mail.text ?? ''), false)
  const { nodes } = parseMarkup(mail.html ?? '')
  const page = markupBlocks(nodes)
  const blocks: Block[] = [...(rows.length === 0 ? [] : [{ kind: 'table' as const, rows }])]
  const isWhole = without(wordsIn(page), wordsIn(text)).length === 0
  for (const one of isWhole ? text : page) blocks.push(one)
  // Plain text has the addresses of links too.
  const lost = isWhole ? [] : without(wordsIn(text, /https?:\S*/g), wordsIn(page))
  if (lost.length > 0) warnings.push(`Words of the plain text that the HTML lacks were left out: ${listed(lost)}.`)
  const hidden = hiddenTexts(nodes)
  if (hidden > 0) warnings.push(`Not read: hidden texts (${hidden}).`)
  const isMail = ({ mimeType }: Attachment): boolean => mimeType === 'message/rfc822' && depth < MAX_ENCLOSED
  for (const { content } of mail.attachments.filter(isMail)) {
    const inner = await mailDocument(Buffer.from(content as ArrayBuffer), depth + 1)
    blocks.push({ kind: 'heading', level: Math.min(depth + 2, 6), text: inner.title }, ...inner.blocks)
    warnings.push(...(inner.warnings ?? []))
  }
  const attached = mail.attachments.filter((one) => !isMail(one)).map(({ filename, mimeType }) => filename ?? mimeType)
  if (attached.length > 0) warnings.push(`Attachments were not read: ${listed(attached)}.`)
  return {
    title: inline(mail.subject ?? ''),
    blocks: blocks.filter((block) => textsOf(block).join('') !== ''),
    warnings: [...new Set(warnings)],
  }
}

/** A plain text in which each paragraph of a quote has its marks once. */
function withFewMarks(text: string): string {
  let before = ''
  const lines = text.split(/\r\n?|\n/).map((line) => {
    const [marks = ''] = /^(?:> ?)+/.exec(line) ?? []
    const isFirst = marks.trimEnd() !== before
    const rest = line.slice(marks.length)
    before = rest.trim() === '' ? '' : marks.trimEnd()
    return isFirst && rest.trim() !== '' ? `\n${line}` : rest
  })
  return lines.join('\n')
}

/** An e-mail without spaces at the end of quoted lines: the parser joins flowed ones, with the marks of quotes between. */
function withEndedQuotes(mail: Uint8Array): Buffer {
  const text = Buffer.from(mail).toString('latin1')
  const isEncoded = /quoted-printable/i.test(text)
  const ended = (line: string): string => (isEncoded ? line.trimEnd().replace(/=20$/, '') : line).trimEnd()
  return Buffer.from(text.replace(/^>.*/gm, ended), 'latin1')
}

/** @param except what is no text */
function wordsIn(blocks: readonly Block[], except: RegExp | string = ''): readonly string[] {
  const text = blocks.flatMap(textsOf).join(' ')
  return text.replace(except, '').match(/[\p{L}\p{N}]+/gu) ?? []
}

function without(words: readonly string[], others: readonly string[]): readonly string[] {
  const known = new Set(others)
  return words.filter((word) => !known.has(word))
}

/** An e-mail whose texts may be of other encodings than it names. @throws document_invalid */
async function parsedMail(bytes: Uint8Array) {
  const parse = async (file: Uint8Array) =>
    PostalMime.parse(withEndedQuotes(file), { maxNestingDepth: MAX_NESTING, forceRfc822Attachments: true }).catch((error: unknown) => {
      throw new DocumentError('damaged', `The file is no readable e-mail (${reasonOf(error)}).`, error)
    })
  const isBroken = ({ subject = '', text = '', html = '' }: Email): boolean => (subject + text + html).includes('\ufffd')
  const warnings: string[] = []
  let mail = await parse(bytes)
  if (isBroken(mail)) {
    const read = readText(bytes)
    const again = await parse(Buffer.from(read.text))
    if (!isBroken(again)) mail = again
    warnings.push(...(isBroken(again) ? ['Letters of the e-mail are lost: its text is not of the encoding that it names.'] : read.warnings))
  }
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
  const types = file.match(/^content-type:[ \t]*text\/.*(?:\r?\n[ \t].*)*/gim) ?? []
  const isUtf8 = types.length > 0 && types.every((type) => /\bcharset\s*=\s*"?utf-?8\b/i.test(type))
  const header = file.slice(0, file.search(/\r?\n\r?\n|$/))
  const isSubjectUtf8 = !/=\?(?!utf-?8\?)[\w-]+\?[bq]\?/i.test(header)
  const [, quoted, boundary = quoted] = /\bboundary\s*=\s*(?:"([^"]+)"|([^\s;]+))/i.exec(header) ?? []
  if (boundary !== undefined && !file.includes(`--${boundary}--`)) warnings.push('The e-mail has no end: it may be incomplete.')
  const decoded = (text = '', isNamed = isUtf8): string => {
    if (isNamed) return text
    const letters = withWindowsLetters(text)
    const utf8 = /[^\0-\u007f]/.test(letters) ? decodedAs('utf-8', windowsBytes(letters)) : undefined
    if (utf8 !== undefined) warnings.push('The text of the e-mail is utf-8, not of the encoding that it names: it was read as that.')
    return utf8 ?? letters
  }
  return {
    mail: { ...mail, subject: decoded(mail.subject, isSubjectUtf8), text: decoded(mail.text), html: decoded(mail.html) },
    warnings,
  }
}

function named(addresses: readonly Address[] = []): string {
  return addresses
    .map(({ name, address, group }) => {
      if (group !== undefined) return `${name}: ${named(group)}`.replace(/: $/, '')
      return name === '' ? address : `${/[,;<>]/.test(name) ? JSON.stringify(name) : name} <${address}>`
    })
    .join(', ')
}

/** Characters of a cell's output. */
const MOST_OUTPUT = 4000

type Fields = Readonly<Record<string, unknown>>

/** A Jupyter notebook (nbformat 3 and 4): its Markdown, its code and the text of its outputs. @throws document_invalid */
export function notebookDocument(text: string): BlockDocument {
  const notebook = fieldsOf(parseJson(text))
  const cells = [notebook, ...listOf(notebook.worksheets)].flatMap(({ cells }) => listOf(cells))
  if (cells.length === 0) throw new DocumentError('damaged', 'The file is no notebook: it has no cells.')
  const [unread, warnings]: [Unread, string[]] = [new Unread(), []]
  let cut = 0
  const blocks = cells.flatMap(({ cell_type: type, source, input, outputs }): readonly Block[] => {
    const said = textOf(source ?? input)
    if (type === 'markdown' || type === 'heading') {
      const read = markdownDocument(said)
      warnings.push(...(read.warnings ?? []))
      return read.blocks
    }
    const shown = listOf(outputs).map((output) => {
      const data = fieldsOf(output.data)
      const said = textOf(output.text) + shownIn(data)
      if (Object.keys(data).some((name) => name.startsWith('image/'))) unread.add('images in outputs')
      else if (said === '' && Object.keys(data).length > 0) unread.add('outputs without text')
      return typeof output.ename === 'string' ? `${output.ename}: ${textOf(output.evalue)}` : said
    })
    // A line that a progress bar writes again is shown once.
    const output = stripVTControlCharacters(shown.join('\n'))
      .replace(/^[^\n]*\r(?=[^\r\n])/gm, '')
      .replace(/^(?:[^\S\n]*\n)+/, '')
      .trimEnd()
    if (output.length > MOST_OUTPUT) cut++
    return [said, clipped(output, MOST_OUTPUT)].filter((one) => one.trim() !== '').map((one) => ({ kind: 'code', text: one.trimEnd() }))
  })
  if (cut > 0) warnings.push(`Outputs longer than ${MOST_OUTPUT} characters were cut (${cut}).`)
  return { title: '', blocks, warnings: [...unread.warnings, ...new Set(warnings)] }
}

/** The text of an output by its media types: the plain one, unless it only names the object that is shown. */
function shownIn(data: Fields): string {
  const plain = textOf(data['text/plain'])
  if (!/^(?:<[\w.]+(?: object)?(?: at 0x[\da-f]+)?>)?$/i.test(plain)) return plain
  const page = markupBlocks(parseMarkup(textOf(data['text/html'])).nodes)
  return textOf(data['text/markdown'] ?? data['text/latex']) || page.flatMap(textsOf).join('\n') || plain
}

function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : {}
}

function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : []
}

/** A text in one string or in lines. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : Array.isArray(value) ? value.map(textOf).join('') : ''
}
