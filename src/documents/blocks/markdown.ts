import { parseDocument } from 'htmlparser2'
import { marked } from 'marked'
import { decodeText } from '../text.ts'
import type { BlockDocument } from './contract.ts'
import { markupBlocks } from './markup/markup.ts'

/** YAML front matter (Jekyll, Hugo, Pandoc), the source of the title. */
const FRONT_MATTER = /^---[ \t]*\r?\n([^]{0,20000}?)\r?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|$)/

/** Parses GitHub-flavoured Markdown, including embedded HTML. */
export function markdownDocument(bytes: Uint8Array, mediaType: string | undefined): BlockDocument {
  const source = decodeText(bytes, mediaType === undefined ? {} : { mediaType })
  const front = FRONT_MATTER.exec(source)
  const html = marked.parse(front === null ? source : source.slice(front[0].length), { async: false, gfm: true })
  return { type: 'markdown', title: titleIn(front?.[1] ?? ''), blocks: markupBlocks(parseDocument(html).children) }
}

function titleIn(yaml: string): string {
  const value = /^title:[ \t]*(\S.*)$/m.exec(yaml)?.[1]?.trim() ?? ''
  return /^(["']).*\1$/.test(value) ? value.slice(1, -1) : value
}
