/** Truncates a text at the first stop, and returns whether there was one. */
export function cutAtStop(text: string, stops: readonly string[]): { readonly text: string; readonly stopped: boolean } {
  const offsets = stops.map((stop) => text.indexOf(stop)).filter((offset) => offset >= 0)
  return offsets.length === 0 ? { text, stopped: false } : { text: text.slice(0, Math.min(...offsets)), stopped: true }
}

/** A text without a trailing prefix of a stop. */
export function withoutBegunStop(text: string, stops: readonly string[]): string {
  const begun = stops.map((stop) => {
    let length = Math.min(stop.length - 1, text.length)
    while (length > 0 && !text.endsWith(stop.slice(0, length))) length--
    return length
  })
  return text.slice(0, text.length - Math.max(0, ...begun))
}
