import { parseJson } from '../../../base/json.ts'

/** Control characters, which would break a line or command the terminal. */
const CONTROLS = /[\p{Cc}\p{Zl}\p{Zp}]/gu
const SHORT: ReadonlyMap<string, string> = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
])

/** A text for one line of output: control characters as in JSON. */
export function shown(text: string): string {
  return text.replace(CONTROLS, (one) => SHORT.get(one) ?? `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** A value for a line of output: as JSON if it has control characters or begins with a quote, otherwise as it is. */
export function quoted(value: string): string {
  return shown(value) === value && !value.startsWith('"') ? value : shown(JSON.stringify(value))
}

/** The value that {@link quoted} shows. */
export function unquoted(text: string): string {
  const value = text.startsWith('"') ? parseJson(text) : undefined
  return typeof value === 'string' ? value : text
}
