/**
 * The weight of a media type in an `Accept` header (RFC 9110, section 12.5.1): 0 rejects it.
 * @returns undefined if the type is not named
 */
export function weightOf(accept: string, type: string): number | undefined {
  for (const range of accept.toLowerCase().split(',')) {
    const [name, ...parameters] = range.split(';').map((part) => part.trim())
    if (name !== type) continue
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    return weight === undefined ? 1 : Number(weight.slice(2))
  }
  return undefined
}
