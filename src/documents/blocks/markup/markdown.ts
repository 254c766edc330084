import { marked } from 'marked'
import { isMap, isScalar, isSeq, parseDocument as parseYaml } from 'yaml'
import { inline, type BlockDocument } from '../contract.ts'
import { htmlDocument } from './html.ts'

/** YAML front matter (Jekyll, Hugo, Pandoc). */
const FRONT_MATTER = /^---[ \t]*\r?\n([^]{0,20000}?)\r?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|$)/
/** Its fields that are read; others are settings of the site. */
const READ =
  /^(?:subtitle|description|summary|abstract|authors?|date|published|updated|last_?mod(?:ified)?|version|tags|keywords|categories)$/i

/** Parses GitHub-flavoured Markdown, including embedded HTML. What front matter says of the document follows its first heading. */
export function markdownDocument(source: string): BlockDocument {
  const [whole = '', front = ''] = FRONT_MATTER.exec(source) ?? []
  const fields = fieldsIn(front)
  const html = marked.parse(fields === undefined ? source : source.slice(whole.length), { async: false, gfm: true })
  const { blocks: shown, warnings = [] } = htmlDocument(html)
  const rows = (fields ?? []).flatMap(([name, value]) => (READ.test(name) && value !== '' ? [`${name}: ${value}`] : []))
  const blocks = [...shown]
  if (rows.length > 0) blocks.splice(blocks[0]?.kind === 'heading' ? 1 : 0, 0, { kind: 'table', rows })
  return { title: fields?.find(([name]) => name === 'title')?.[1] ?? '', blocks, warnings }
}

/**
 * Names and values of front matter, also where that is no valid YAML (`title: Lamps: a list`).
 * @returns undefined if the text has no fields: it is between two rules
 */
function fieldsIn(front: string): (readonly [name: string, value: string])[] | undefined {
  if (front === '') return undefined
  const document = parseYaml(front, { uniqueKeys: false, logLevel: 'silent' })
  if (!isMap(document.contents)) return undefined
  return document.errors.length === 0
    ? document.contents.items.map(({ key, value }) => [valueText(key), valueText(value)] as const)
    : Array.from(front.matchAll(/^([\w-]+):[ \t]*(\S.*)$/gm), ([, name = '', value = '']) => [name, inline(value)] as const)
}

/** The text of a value; those of a list or of fields with commas between them. */
function valueText(value: unknown): string {
  const parts = isSeq(value) ? value.items : isMap(value) ? value.items.map((pair) => pair.value) : undefined
  if (parts !== undefined)
    return parts
      .map(valueText)
      .filter((text) => text !== '')
      .join(', ')
  return isScalar(value) && (typeof value.value === 'string' || typeof value.value === 'number') ? inline(String(value.value)) : ''
}
