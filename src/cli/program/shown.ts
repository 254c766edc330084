import { legible, parseJson } from '../../../base/json.ts'

/** Writes to standard output and waits for its reader (backpressure). @returns the failure, if any */
export function print(text: string): Promise<Error | null | undefined> {
  return new Promise((resolve) => process.stdout.write(legible(text), resolve))
}

/** Writes lines to standard error. */
export function say(text: string): void {
  process.stderr.write(`${legible(text)}\n`)
}

/** A text for one line of output. */
export function shown(text: string): string {
  return legible(text, '')
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
