import { marked } from 'marked'
import { isMap, parseDocument as parseYaml } from 'yaml'
import { inline, type BlockDocument } from './contract.ts'
import { markupBlocks } from './markup/markup.ts'
import { parseMarkup } from './markup/tidy.ts'

/** YAML front matter (Jekyll, Hugo, Pandoc), the source of the title. */
const FRONT_MATTER = /^---[ \t]*\r?\n([^]{0,20000}?)\r?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|$)/

/** Parses GitHub-flavoured Markdown, including embedded HTML. */
export function markdownDocument(source: string): Omit<BlockDocument, 'type'> {
  const [whole = '', front = ''] = FRONT_MATTER.exec(source) ?? []
  const title = titleIn(front)
  const html = marked.parse(title === undefined ? source : source.slice(whole.length), { async: false, gfm: true })
  return { title: title ?? '', blocks: markupBlocks(parseMarkup(html).nodes) }
}

/**
 * The title of front matter, also where that is no valid YAML (`title: Lamps: a list`); empty without one.
 * @returns undefined if the text has no fields: it is between two rules
 */
function titleIn(front: string): string | undefined {
  const document = parseYaml(front, { uniqueKeys: false, logLevel: 'silent' })
  if (!isMap(document.contents)) return undefined
  const title: unknown = document.errors.length === 0 ? document.get('title') : /^title:[ \t]*(\S.*)$/m.exec(front)?.[1]
  return typeof title === 'string' || typeof title === 'number' ? inline(String(title)) : ''
}
