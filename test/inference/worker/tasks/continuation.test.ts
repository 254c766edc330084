import t from 'tap'
import { continuationIds } from '../../../../src/inference/worker/tasks/answer-tokens.ts'
import type { PromptTokenizer } from '../../../../src/text/pack.ts'

/** Greedy longest pieces, in a vocabulary where one piece reaches over the border between a prompt and its answer. */
function pieces(vocabulary: readonly string[]): PromptTokenizer {
  const encode = (text: string): number[] => {
    const ids: number[] = []
    for (let rest = text; rest !== '';) {
      const best = vocabulary.filter((piece) => rest.startsWith(piece)).sort((a, b) => b.length - a.length)[0]
      if (best === undefined) throw new Error(`no piece for ${rest}`)
      ids.push(vocabulary.indexOf(best))
      rest = rest.slice(best.length)
    }
    return ids
  }
  return { bosId: null, encode, decode: (ids) => ids.map((id) => vocabulary[id]).join('') }
}

t.test('ids after the prompt, where the prompt stays as it is', (t) => {
  const tokenizer = pieces(['Answer', ':', ' ', 'x', ' x', '\n'])
  const ids = continuationIds('Answer:', tokenizer.encode('Answer:'), 'x', tokenizer)
  t.equal(tokenizer.decode(ids), ' x\n')
  t.end()
})

t.test('a piece over the border: the continuation is all there, and only it', (t) => {
  const tokenizer = pieces(['Answer', ':', ': ', ' ', 'x', 'y', ' x', '\n'])
  const prompt = tokenizer.encode('Answer:')
  for (const choice of ['x', 'y']) {
    const ids = continuationIds('Answer:', prompt, choice, tokenizer)
    t.equal(tokenizer.decode([...prompt, ...ids]), `Answer: ${choice}\n`)
  }
  t.end()
})
