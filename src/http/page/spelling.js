const ARTICLE = /^(?:the|an?)\s+(?=\S)/i

/** Letters without case and accents. */
function plain(text) {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
}

/**
 * The answer in the spelling of a passage that says it: models answer in lower case where people write names.
 * A place within a sentence is taken before one at its beginning, whose first letter is large whatever the word.
 * @param {string} answer
 * @param {{text: string, highlights?: {start: number, end: number, sentence: {start: number}}[]}[]} evidence best first
 */
export function spelled(answer, evidence) {
  const [article = ''] = ARTICLE.exec(answer) ?? []
  const wanted = plain(answer.slice(article.length))
  const places = evidence.flatMap(({ text, highlights = [] }) =>
    highlights.map(({ start, end, sentence }) => ({ said: text.slice(start, end), begins: start === sentence.start })),
  )
  const same = places.filter(({ said }) => plain(said) === wanted)
  const found = same.find(({ begins }) => !begins) ?? same[0]
  return found ? article + found.said : answer
}
