import { convert } from 'html-to-text'
import type { DocumentLimits, ReadDocument } from './contract.ts'
import { DocumentError } from './errors.ts'
import { decodeText } from './text.ts'

/** What holds no sentences of the page. */
const SKIPPED = ['nav', 'script', 'style', 'noscript', 'template', 'svg', 'form', 'button', 'iframe', 'img']
const HEADINGS = ['h1', 'h2', 'h3', 'h4', 'h5', 'h6']
/** Elements inside each other that are followed. */
const MAX_DEPTH = 512
const LONGEST_TITLE = 300

/** The text of an HTML page, headings marked as in Markdown. @throws document_invalid, payload_too_large */
export function readHtml(bytes: Uint8Array, mediaType: string | undefined, { characters }: DocumentLimits): ReadDocument {
  const source = decodeText(bytes, { isHtml: true, ...(mediaType !== undefined && { mediaType }) })
  const text = convert(source, {
    wordwrap: false,
    limits: { maxInputLength: source.length + 1, maxDepth: MAX_DEPTH },
    formatters: {
      marked: (element, walk, builder, { level }) => {
        builder.openBlock({ leadingLineBreaks: 2 })
        builder.addInline(`${'#'.repeat(Number(level))} `)
        walk(element.children, builder)
        builder.closeBlock({ trailingLineBreaks: 2 })
      },
    },
    selectors: [
      { selector: 'a', options: { ignoreHref: true } },
      ...SKIPPED.map((selector) => ({ selector, format: 'skip' })),
      ...HEADINGS.map((selector, i) => ({ selector, format: 'marked', options: { level: i + 1 } })),
      { selector: 'table', format: 'dataTable', options: { uppercaseHeaderCells: false } },
    ],
  })
  if (text.length > characters)
    throw new DocumentError('too_large', `The page has ${text.length} characters of text; ${characters} are read at most.`)
  return { type: 'html', text, title: titleOf(source), pages: [] }
}

function titleOf(source: string): string {
  const start = /<title[^>]{0,100}>/i.exec(source)
  if (start === null) return ''
  const from = start.index + start[0].length
  const found = source.slice(from, from + LONGEST_TITLE)
  const end = found.search(/<\/title/i)
  return end < 0 ? '' : convert(found.slice(0, end), { wordwrap: false }).replace(/\s+/g, ' ').trim()
}
