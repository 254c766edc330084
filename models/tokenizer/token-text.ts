/** The text of a token of tokenizer_config.json, given as a string or as an object with its content. */
export function tokenText(value: unknown): string | undefined {
  const text = typeof value === 'object' && value !== null && 'content' in value ? value.content : value
  return typeof text === 'string' ? text : undefined
}
