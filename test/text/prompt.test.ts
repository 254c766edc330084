import t from 'tap'
import { renderDemonstration, renderPassage, renderPrompt } from '../../src/text/prompt.ts'

t.test('a passage is rendered as in the paper', (t) => {
  t.equal(renderPassage({ title: 'Canberra', text: 'Canberra is a city.' }), 'Document (Title: Canberra): Canberra is a city.')
  t.end()
})

t.test('a prompt is demonstrations, passages and the question, a blank line between blocks', (t) => {
  const demonstration = renderDemonstration({
    question: 'who wrote emma',
    answer: 'Jane Austen',
    passage: { title: 'Emma', text: 'Emma is by Jane Austen.' },
  })
  t.equal(
    renderPrompt([demonstration], ['Document (Title: A): b'], 'what is b'),
    'Document (Title: Emma): Emma is by Jane Austen.\n\nQuestion: who wrote emma\nAnswer: Jane Austen\n\nDocument (Title: A): b\n\nQuestion: what is b\nAnswer:',
  )
  t.end()
})

t.test('a demonstration without a passage is its question and answer', (t) => {
  t.equal(renderDemonstration({ question: 'q', answer: 'a' }), 'Question: q\nAnswer: a')
  t.end()
})
