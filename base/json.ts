/** Parses a JSON text; undefined if it is invalid (no JSON text has that value). */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
