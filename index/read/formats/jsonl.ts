import { isObject, parseJson, repeatedName } from '../../../base/json.ts'
import type { ColumnMap } from '../column-map.ts'
import type { Line } from '../../../base/files.ts'
import type { RawRow, Rejected } from '../contract.ts'

/** FlashRAG's and Pyserini's `contents`: the title (sometimes quoted) on the first line, the text below. */
function splitContents(contents: string): { title: string; text: string } {
  const end = contents.indexOf('\n')
  if (end < 0) return { title: '', text: contents }
  const title = contents.slice(0, end).trim()
  return { title: /^".*"$/.test(title) ? title.slice(1, -1) : title, text: contents.slice(end + 1) }
}

/** Gets a member by name or by path: `document.title`. */
function memberOf(value: Record<string, unknown>, name: string): unknown {
  if (Object.hasOwn(value, name)) return value[name]
  const dot = name.indexOf('.')
  const inner = dot < 0 ? undefined : value[name.slice(0, dot)]
  return isObject(inner) ? memberOf(inner, name.slice(dot + 1)) : undefined
}

function rowOf(line: number, value: Record<string, unknown>, { fields = {}, metadata = [] }: Partial<ColumnMap>): RawRow {
  const given = (...names: string[]): string | undefined => names.find((name) => (value[name] ?? undefined) !== undefined)
  const names = {
    id: given('id', '_id'),
    title: 'title',
    text: value.text === undefined && typeof value.contents === 'string' ? 'contents' : 'text',
    source: given('source', 'url'),
    metadata: metadata.length > 0 ? undefined : 'metadata',
    ...fields,
  }
  const valueOf = (name: string | undefined): unknown => (name === undefined ? undefined : memberOf(value, name))
  const own = metadata.flatMap(({ name, column }) => {
    const one = memberOf(value, column)
    return one === undefined ? [] : [[name, one] as const]
  })
  const read = new Set([...Object.values(names), ...metadata.map(({ column }) => column)].flatMap((name) => [name, name?.split('.')[0]]))
  const unread = Object.keys(value).filter((name) => !read.has(name))
  const [id, title, text, source] = [names.id, names.title, names.text, names.source].map(valueOf)
  const row = { line, id, title, text, source, metadata: metadata.length > 0 ? Object.fromEntries(own) : valueOf(names.metadata), unread }
  if (names.text !== 'contents' || fields.text !== undefined || typeof text !== 'string') return row
  // Contents begin with their title, unless it is given apart.
  const contents = splitContents(text)
  return typeof title === 'string' && title.trim() !== '' && title.trim() !== contents.title ? row : { ...row, ...contents }
}

/** Reads JSON lines: {id, title, text} (Atlas), {_id, title, text} (BEIR), {id, contents} (FlashRAG, Pyserini), or mapped members. */
export async function* readJsonl(
  lines: AsyncIterable<Line | Rejected>,
  columns: Partial<ColumnMap> = {},
): AsyncGenerator<RawRow | Rejected> {
  for await (const line of lines) {
    if ('reason' in line) {
      yield line
      continue
    }
    if (line.text.trim() === '') continue
    const value = parseJson(line.text)
    const twice = repeatedName(line.text)
    const detail = `The line is not ${value === undefined ? 'valid JSON' : 'a JSON object'}.`
    if (!isObject(value)) yield { line: line.line, reason: 'malformed', detail }
    else if (twice === undefined) yield rowOf(line.line, value, columns)
    else yield { line: line.line, reason: 'malformed', detail: `The object has the name ${JSON.stringify(twice)} twice: keep one.` }
  }
}
