/** The value of a JSON text, or undefined where it is not valid JSON (no JSON text has that value). */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
