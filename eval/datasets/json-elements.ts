/**
 * The elements of a JSON array as texts, one by one, without holding the file: `retrieved.json` and TriviaQA's
 * files exceed what one string can hold. The array is the document itself or the value of the top-level key `key`.
 * Texts are not checked: whoever parses them sees what is wrong with an element. Throws where there is no such array,
 * or where the text ends inside it.
 */
export async function* jsonElements(chunks: AsyncIterable<string>, key: string): AsyncGenerator<string> {
  let depth = 0
  let arrayDepth = 0
  let inString = false
  let escaped = false
  let closed = false
  let held = ''
  /** The last string at depth 1: the key of what follows in an object. */
  let lastString = ''

  for await (const chunk of chunks) {
    let from = 0
    for (let i = 0; i < chunk.length; i++) {
      const char = chunk[i]
      if (inString) {
        if (escaped) escaped = false
        else if (char === '\\') escaped = true
        else if (char === '"') inString = false
        if (arrayDepth === 0 && depth === 1 && inString) lastString += char
        continue
      }
      const inArray = arrayDepth > 0
      switch (char) {
        case '"':
          inString = true
          if (!inArray && depth === 1) lastString = ''
          break
        case '[':
        case '{':
          depth++
          if (!inArray && !closed && char === '[' && (depth === 1 || (depth === 2 && lastString === key))) {
            arrayDepth = depth
            from = i + 1
          }
          break
        case ']':
        case '}':
          depth--
          if (inArray && depth < arrayDepth) {
            const last = held + chunk.slice(from, i)
            if (last.trim() !== '') yield last
            held = ''
            arrayDepth = 0
            closed = true
          }
          break
        case ',':
          if (inArray && depth === arrayDepth) {
            yield held + chunk.slice(from, i)
            held = ''
            from = i + 1
          }
          break
        default:
      }
    }
    if (arrayDepth > 0) held += chunk.slice(from)
  }
  if (!closed) throw new SyntaxError(arrayDepth > 0 ? 'the text ends inside the array' : `there is no array, and no "${key}" that is one`)
}
