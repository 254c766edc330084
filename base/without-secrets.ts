const SECRETS: readonly (readonly [RegExp, string])[] = [
  // User name and password of an address.
  [/(?<=:\/\/)[^\s/"@]+@|[\w.-]+:[^\s/"@:]+@(?=[\w[])/g, ''],
  // The query of an address or path.
  [/(?<=[\w/.~%-])\?[\w%[][^\s"'<>\\]*/g, '?(query)'],
  [/(?<=\bbearer +)[\w.~+/=-]+/gi, '(key)'],
  [/\bcepe_[\w-]{43}/g, '(key)'],
]

/** Removes credentials and queries of addresses, and keys, from a text for a log or an error. */
export function withoutSecrets(text: string): string {
  return SECRETS.reduce((rest, [secret, shown]) => rest.replace(secret, shown), text)
}
