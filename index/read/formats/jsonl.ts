import { parseJson } from '../../../base/json.ts'
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

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Gets a member by name or by path: `document.title`. */
function memberOf(value: Record<string, unknown>, name: string): unknown {
  if (Object.hasOwn(value, name)) return value[name]
  const dot = name.indexOf('.')
  const inner = dot < 0 ? undefined : value[name.slice(0, dot)]
  return isObject(inner) ? memberOf(inner, name.slice(dot + 1)) : undefined
}

function rowOf(line: number, value: Record<string, unknown>, { fields = {}, metadata = [] }: Partial<ColumnMap>): RawRow {
  const mapped = (name: string | undefined, byDefault: unknown): unknown => (name === undefined ? byDefault : memberOf(value, name))
  const own = metadata.flatMap(({ name, column }) => {
    const one = memberOf(value, column)
    return one === undefined ? [] : [[name, one] as const]
  })
  const common = {
    line,
    id: mapped(fields.id, value.id ?? value._id),
    source: mapped(fields.source, value.source ?? value.url),
    metadata: metadata.length > 0 ? Object.fromEntries(own) : mapped(fields.metadata, value.metadata),
  }
  if (fields.text === undefined && value.text === undefined && typeof value.contents === 'string') {
    const { title, text } = splitContents(value.contents)
    return { ...common, text, title: mapped(fields.title, title) }
  }
  return { ...common, title: mapped(fields.title, value.title), text: mapped(fields.text, value.text) }
}

/**
 * Reads rows of a JSON-lines file: {id, title, text} (Atlas), {_id, title, text} (BEIR) or {id, contents} (FlashRAG, Pyserini), or with
 * mapped members.
 */
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
    const detail = `The line is not ${value === undefined ? 'valid JSON' : 'a JSON object'}.`
    yield isObject(value) ? rowOf(line.line, value, columns) : { line: line.line, reason: 'malformed', detail }
  }
}
