/** A text up to the first of the stops, and whether one stands in it. */
export function cutAtStop(text: string, stops: readonly string[]): { readonly text: string; readonly stopped: boolean } {
  const places = stops.map((stop) => text.indexOf(stop)).filter((place) => place >= 0)
  return places.length === 0 ? { text, stopped: false } : { text: text.slice(0, Math.min(...places)), stopped: true }
}

/** A text without what at its end may become one of the stops. */
export function withoutBegunStop(text: string, stops: readonly string[]): string {
  const begun = stops.map((stop) => {
    let length = Math.min(stop.length - 1, text.length)
    while (length > 0 && !text.endsWith(stop.slice(0, length))) length--
    return length
  })
  return text.slice(0, text.length - Math.max(0, ...begun))
}
