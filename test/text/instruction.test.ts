import t from 'tap'
import { createTextStreamer } from '../../src/inference/worker/decoder/text-streamer.ts'
import { resolveDocument } from '../../src/rag/resolve-document.ts'
import { defaultPrompt, promptForm, readerDefaults, resolveRequest } from '../../src/rag/resolve-request.ts'
import type { AnswerRequest } from '../../src/rag/schema.ts'
import { asksForPhrase, instructed, SHORT_ANSWER, withoutPhrase } from '../../src/text/instruction.ts'
import { recordingServices } from '../helpers/recording-services.ts'

t.test('the defaults that a service and a calibration name are those with which a question is read', (t) => {
  const { manifest } = recordingServices().services.reader
  for (const mode of ['map-rerank', 'decoder-only', undefined] as const)
    for (const template of ['none', 'inst'] as const) {
      const own = { ...manifest, qa_defaults: { ...manifest.qa_defaults, focus: true as const, ...(mode && { mode }) } }
      const read = promptForm(resolveRequest({ question: 'what' }, own, [], template))
      t.same(defaultPrompt(own, [], template), read, `${mode} ${template}`)
      const { k, k_decoder, context_tokens, max_new_tokens } = own.qa_defaults
      t.same(readerDefaults(own, [], template), { k, k_decoder, context_tokens, max_new_tokens, ...read })
      t.equal('focus' in read, mode === 'map-rerank')
    }
  t.end()
})

t.test('a chat template gets an instruction and no examples; a plain prompt is as the paper has it', (t) => {
  const { manifest } = recordingServices().services.reader
  const example = { question: 'who', answer: 'he' }
  const resolved = (request: Partial<AnswerRequest>, template?: 'none' | 'inst' | 'tokenizer', own?: string) => {
    const defaults = { ...manifest.qa_defaults, demonstrations: 1, ...(own !== undefined && { instruction: own }) }
    return resolveRequest({ question: 'what', ...request }, { ...manifest, qa_defaults: defaults }, [example], template)
  }
  t.match(resolved({}), { instruction: undefined, demonstrations: [example] })
  for (const template of ['inst', 'tokenizer'] as const) {
    t.match(resolved({}, template), { instruction: SHORT_ANSWER, demonstrations: [] })
    t.match(resolved({ chat_template: template }), { instruction: SHORT_ANSWER, demonstrations: [] })
  }
  t.match(resolved({}, 'tokenizer', 'In a word.'), { instruction: 'In a word.' }, "the model's own")
  t.match(resolved({}, 'tokenizer', ''), { instruction: undefined })
  t.match(resolved({ instruction: 'In Latin.' }, 'tokenizer', 'In a word.'), { instruction: 'In Latin.' })
  t.match(resolved({ instruction: ' ' }, 'tokenizer'), { instruction: undefined }, 'none')
  t.match(resolved({ instruction: 'In Latin.' }), { instruction: 'In Latin.' }, 'asked for in a plain prompt')
  t.match(resolved({ demonstrations: 1 }, 'tokenizer'), { demonstrations: [example] }, 'asked for')

  const document = (form: object) =>
    resolveDocument(form, { text: 'a text', title: 't' }, manifest, { documentTokens: 100, chatTemplate: 'tokenizer' })
  t.match(document({ question: 'who' }), { instruction: SHORT_ANSWER })
  t.match(document({ summarise: true }), { instruction: undefined })
  t.match(document({ question: 'who' }).query, /^\n\nQuestion: who\nReply with only .*\nAnswer:$/)
  t.equal(document({ summarise: true }).query, '\n\nWrite a summary of the document above.\n\nSummary:\n')
  t.equal(document({ summarise: true, instruction: 'List the names.' }).query, '\n\nList the names.\n\nSummary:\n')
  t.end()
})

t.test('the instruction stands between the question and its answer', (t) => {
  t.equal(instructed('who', 'Be brief.'), 'who\nBe brief.')
  t.equal(instructed('who'), 'who')
  t.end()
})

t.test('an answer that says that the passages do not answer is empty', (t) => {
  t.ok(asksForPhrase(SHORT_ANSWER))
  t.notOk(asksForPhrase('Be brief.'))
  for (const says of [
    'not in the passages',
    'Not in the passages.',
    '"Not in the passage"',
    'The answer is not in the passages.',
    'It is not mentioned in the passages',
  ])
    t.equal(withoutPhrase(says), '', says)
  for (const answer of ['Canberra', 'not', 'Notting Hill', 'not in the passages of the Bible', 'in the passages'])
    t.equal(withoutPhrase(answer), answer)
  t.end()
})

t.test('the phrase is not streamed, and what begins like it is streamed whole', (t) => {
  const streamed = (text: string): string[] => {
    const pieces: string[] = []
    const words = text.split(/(?= )/)
    const tokenizer = { decode: (ids: readonly number[]) => ids.map((id) => words[id]).join('') }
    const onToken = createTextStreamer({ tokenizer, stopIds: [], heldBack: true, onText: ({ text }) => pieces.push(text) })
    words.forEach((_, id) => onToken(id))
    return pieces
  }
  t.same(streamed('Not in the passages'), [])
  t.same(streamed('The answer is not in the passages.'), [])
  t.same(streamed('the mayor of Graz'), ['the mayor', ' of', ' Graz'])
  t.same(streamed('Canberra'), ['Canberra'])
  t.end()
})
