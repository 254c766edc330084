/** The largest request of every kind within the limits of the shipped configuration (1 MiB of body). */

/** Words without repetition, so that tokenizer caches do not help. */
function words(characters: number, seed: number): string {
  let state = seed * 2654435761
  let text = ''
  while (text.length < characters) {
    state = (state * 1664525 + 1013904223) % 4294967296
    text += `${state.toString(36)} `
  }
  return text.slice(0, characters)
}

function passages(count: number, characters: number) {
  return Array.from({ length: count }, (_, i) => ({ title: `Title ${i}`, text: words(characters, i + 1), score: i / count }))
}

const demonstrations = Array.from({ length: 16 }, (_, i) => ({
  question: `question ${i}`,
  answer: `answer ${i}`,
  passage: { title: 'Title', text: words(20_000, i + 300) },
}))
const question = 'what is the capital of australia'
const many = passages(200, 5000)
/** A passage of a single word: tokenizers take superlinear time for it. */
const unbroken = Array.from({ length: 50 }, (_, i) => ({ title: 'T', text: words(20_000, i + 1).replaceAll(' ', '') }))

export interface LargestRequest {
  readonly name: string
  readonly route: string
  readonly body: unknown
}

export const LARGEST: readonly LargestRequest[] = [
  { name: 'answer, 200 passages of 5,000 characters', route: '/v1/answer', body: { question, passages: many, max_new_tokens: 256 } },
  { name: 'answer, 50 unbroken passages of 20,000', route: '/v1/answer', body: { question, passages: unbroken, k_decoder: 50 } },
  { name: 'answer, k = 200', route: '/v1/answer', body: { question, k: 200 } },
  { name: 'decoder-only, 200 passages', route: '/v1/answer', body: { question, passages: many, mode: 'decoder-only' } },
  { name: 'replug, 200 passages', route: '/v1/answer', body: { question, passages: many, mode: 'replug' } },
  { name: 'replug, k = 200', route: '/v1/answer', body: { question, k: 200, mode: 'replug', max_new_tokens: 256 } },
  {
    name: 'replug, 16 demonstrations of 20,000, k = 200',
    route: '/v1/answer',
    body: { question, demonstrations, k: 200, mode: 'replug', context_tokens: 8 },
  },
  {
    name: 'sampling, 200 passages',
    route: '/v1/answer',
    body: { question, passages: many, max_new_tokens: 256, sampling: { temperature: 1, top_p: 1, seed: 1 } },
  },
  {
    name: 'score, 64 choices of 1,000 characters',
    route: '/v1/score',
    body: { question, passages: passages(180, 5000), choices: Array.from({ length: 64 }, (_, i) => words(1000, i)) },
  },
  {
    name: 'score, 64 short choices',
    route: '/v1/score',
    body: { question, k: 200, choices: Array.from({ length: 64 }, (_, i) => `city ${i}`) },
  },
  { name: 'search, k = 200', route: '/v1/search', body: { query: words(4096, 1), k: 200 } },
]
