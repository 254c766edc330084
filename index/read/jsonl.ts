import { isUtf8 } from 'node:buffer'
import type { Line } from './lines.ts'
import type { RawRow, Rejected } from './contract.ts'

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

function rowOf(line: number, value: Record<string, unknown>): RawRow {
  const common = { line, id: value.id ?? value._id, source: value.source ?? value.url, metadata: value.metadata }
  if (value.text === undefined && typeof value.contents === 'string') return { ...common, ...splitContents(value.contents) }
  return { ...common, title: value.title, text: value.text }
}

/** Rows of a JSON-lines file: {id, title, text} (Atlas), {_id, title, text} (BEIR) or {id, contents} (FlashRAG, Pyserini). */
export async function* readJsonl(lines: AsyncIterable<Line | Rejected>): AsyncGenerator<RawRow | Rejected> {
  for await (const line of lines) {
    if (!('bytes' in line)) {
      yield line
      continue
    }
    const at = line.line
    if (!isUtf8(line.bytes)) {
      yield { line: at, reason: 'bad_utf8', detail: 'The line is not valid UTF-8.' }
      continue
    }
    const text = line.bytes.toString('utf8')
    if (text.trim() === '') continue
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch {
      yield { line: at, reason: 'malformed', detail: 'The line is not valid JSON.' }
      continue
    }
    yield isObject(value) ? rowOf(at, value) : { line: at, reason: 'malformed', detail: 'The line is not a JSON object.' }
  }
}
