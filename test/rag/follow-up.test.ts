import t from 'tap'
import { saidIn, standaloneQuestion } from '../../src/rag/follow-up/standalone.ts'
import type { Turn } from '../../src/text/chat-template.ts'

/** A chat in which questions and answers take turns. */
function chat(...said: readonly string[]): Turn[] {
  return said.map((content, i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', content }))
}

const CAPITAL = ['What is the capital of France?', 'Paris'] as const
const HAMLET = ['who wrote hamlet', 'William Shakespeare'] as const
const TOWER = ['When was the Eiffel Tower built?', '1889'] as const

/** What was said, the follow-up, and the question that it is. */
const CASES: readonly (readonly [readonly string[], string, string])[] = [
  // What is left out: the entity of the turn before is replaced.
  [CAPITAL, 'And of Germany?', 'What is the capital of Germany?'],
  [CAPITAL, 'and germany', 'What is the capital of germany?'],
  [CAPITAL, 'What about the United States?', 'What is the capital of the United States?'],
  [CAPITAL, 'How about Spain?', 'What is the capital of Spain?'],
  [CAPITAL, 'of Italy?', 'What is the capital of Italy?'],
  [CAPITAL, 'Italy?', 'What is the capital of Italy?'],
  [['what is the capital of australia', 'canberra'], 'and of new zealand?', 'what is the capital of new zealand'],
  [['where is Malmo\u0308', 'Sweden'], 'And Zoe\u0308?', 'where is Zo\u00eb'],
  [['where is Malm\u00f6', 'Sweden'], 'and X\u0302u?', 'where is X\u0302u'],
  [['where is X\u0302u', 'China'], 'And Malm\u00f6?', 'where is Malm\u00f6'],
  [HAMLET, 'and macbeth?', 'who wrote macbeth'],
  [HAMLET, 'what about the tempest', 'who wrote the tempest'],
  [TOWER, 'And the Louvre?', 'When was the Louvre built?'],
  [['when was the eiffel tower built', '1889'], 'and the louvre?', 'when was the louvre built'],
  [['who won the world cup in 1998', 'France'], 'and in 2002?', 'who won the world cup in 2002'],
  [['how tall is mount everest', '8,849 m'], 'and k2?', 'how tall is k2'],
  [['how many people live in Canberra?', '400,000'], 'and in Sydney?', 'how many people live in Sydney?'],
  [['in what year did world war ii end', '1945'], 'and world war i', 'in what year did world war i end'],
  // The relation is replaced, and the entity stays.
  [CAPITAL, 'And the population?', 'What is the population of France?'],
  [CAPITAL, 'Who is the president?', 'Who is the president of France?'],
  // Pronouns.
  [HAMLET, 'when was he born?', 'when was William Shakespeare born?'],
  [HAMLET, 'And when was it written?', 'When was hamlet written?'],
  [['who is the president of france', 'Emmanuel Macron'], 'how old is he', 'how old is Emmanuel Macron'],
  [['who painted the mona lisa', 'Leonardo'], 'what was his nationality?', "what was Leonardo's nationality?"],
  [['what is the capital of australia', 'canberra'], 'what is its population?', "what is canberra's population?"],
  [['what is the capital of australia', 'canberra'], 'how many people live there?', 'how many people live in canberra?'],
  [TOWER, 'Who designed it?', 'Who designed the Eiffel Tower?'],
  [['Where is the Louvre?', 'Paris'], 'What river flows there?', 'What river flows in Paris?'],
  [['Where is the Louvre?', 'Paris'], 'When was it opened?', 'When was the Louvre opened?'],
  [HAMLET, 'Where was he when he wrote it?', 'Where was William Shakespeare when William Shakespeare wrote hamlet?'],
  [HAMLET, 'His birthplace?', "William Shakespeare's birthplace?"],
  [['who was napoleon', 'an emperor'], 'when did he die?', 'when did napoleon die?'],
  [['who is the president of france', 'Emmanuel Macron'], 'is she his wife?', "is Emmanuel Macron Emmanuel Macron's wife?"],
  [['Where is France?', 'Europe'], 'Is Paris its capital?', "Is Paris France's capital?"],
  [['Where is Canberra?', 'Australia'], 'And the population?', 'the population of Canberra?'],
  [TOWER, 'How long did it take?', 'How long did the Eiffel Tower take?'],
  [TOWER, 'How long did it take to build it?', 'How long did it take to build the Eiffel Tower?'],
  [TOWER, 'Who was president when it was built?', 'Who was president when the Eiffel Tower was built?'],
  [TOWER, 'WHO BUILT IT?', 'WHO BUILT the Eiffel Tower?'],
  [['what is the warranty period of the X200', '2 years'], 'how much does it cost?', 'how much does the X200 cost?'],
  [['what is the warranty period of the X200', '2 years'], 'and for the X300?', 'what is the warranty period of the X300'],
  [TOWER, 'Can I get a refund if it is closed?', 'Can I get a refund if the Eiffel Tower is closed?'],
  // A time, and what the question has no object for, is added.
  [CAPITAL, 'and in 1990?', 'What is the capital of France in 1990?'],
  [['How many people speak French?', '1'], 'and in Spain?', 'How many people speak French in Spain?'],
  [['who is the president of france', 'Emmanuel Macron'], 'and in Germany?', 'who is the president of Germany'],
  // A chain: each stands on the one before.
  [[...CAPITAL, 'And of Germany?', 'Berlin'], 'And of Spain?', 'What is the capital of Spain?'],
  [[...CAPITAL, 'And of Germany?', 'Berlin'], 'how many people live there?', 'how many people live in Berlin?'],
  // A list of sources is no part of an answer.
  [
    ['who wrote hamlet', 'William Shakespeare\n\nSources:\n[1] Hamlet, plays.txt\n'],
    'when was he born?',
    'when was William Shakespeare born?',
  ],
]

/** Questions of their own stay as they are. */
const STANDALONE: readonly (readonly [readonly string[], string])[] = [
  [CAPITAL, 'Who wrote Hamlet?'],
  [CAPITAL, 'who was the first person on the moon'],
  [CAPITAL, 'highest mountain of africa'],
  [CAPITAL, 'canberra population'],
  [CAPITAL, 'Is there life on Mars?'],
  [CAPITAL, 'Thank you, that was what I wanted to know about the matter.'],
  [[], 'And of Germany?'],
  [[], 'when was it built?'],
  [['who wrote hamlet', 'I do not know, since nothing in what I have read says anything about that.'], 'who painted guernica'],
]

/** Pronouns that refer to a word of the same question, to no thing, or are part of a title. */
const OWN_PRONOUNS: readonly string[] = [
  'When was the Louvre built and how tall is it?',
  'where did the accident happen and what caused it',
  'What is a kangaroo and what does it eat?',
  'What does a bear do when it wakes up?',
  'Where did Mozart live when he wrote Don Giovanni?',
  'Which river flows through Lyon before it reaches the sea?',
  'Did Marie Curie win her second Nobel Prize in 1911?',
  'How many strings does a violin have on its body?',
  'Which country gave its name to Panama hats?',
  'Why do cats lick their fur?',
  'What time is it in London?',
  'How long does it take to fly to Rome?',
  'Is it true that the earth is round?',
  'How far is it from Rome to Berlin?',
  'Who sang Let It Be?',
  'Who wrote Their Eyes Were Watching God?',
  'who sang "let it be"?',
  'what does IT stand for?',
]

t.test('a pronoun of a question that has what it refers to stays', (t) => {
  for (const said of [CAPITAL, HAMLET, TOWER])
    for (const question of OWN_PRONOUNS) t.equal(standaloneQuestion(question, chat(...said)), question, said.join(' / '))
  t.end()
})

t.test('a follow-up becomes a question of its own', (t) => {
  for (const [said, question, wanted] of CASES)
    t.equal(standaloneQuestion(question, chat(...said)), wanted, `${said.join(' / ')} / ${question}`)
  t.end()
})

t.test('what stands alone is left as it is', (t) => {
  for (const [said, question] of STANDALONE) t.equal(standaloneQuestion(question, chat(...said)), question)
  const system: Turn = { role: 'system', content: 'Answer about the capital of France.' }
  t.equal(standaloneQuestion('And of Germany?', [system]), 'And of Germany?', 'a system message is no turn before')
  t.end()
})

t.test('rules take little time whatever is sent', (t) => {
  const long = 'what of '.repeat(500)
  const started = performance.now()
  for (const question of [long, `and ${long}`, 'it '.repeat(1300), `${'A '.repeat(2000)}b`])
    t.type(standaloneQuestion(question, chat(long, 'x', `and ${'the '.repeat(1000)}`, 'y', question, 'z')), 'string')
  t.ok(performance.now() - started < 10_000)
  // Names between pronouns, and a run of spaces within an answer: both took minutes.
  const again = performance.now()
  for (const part of ['it A ', 'it X’s ', 'A its ']) {
    const repeated = `what is ${part.repeat(600)}`
    t.equal(standaloneQuestion(repeated, chat(repeated, 'x', repeated, 'y', repeated)), repeated)
  }
  const spaced = chat('What is the capital of France?', `a${' '.repeat(60_000)}b`)
  t.equal(standaloneQuestion('How large is it?', spaced), 'How large is France?')
  t.ok(performance.now() - again < 5_000)
  t.end()
})

t.test('a list of sources is taken off an answer', (t) => {
  t.equal(saidIn('canberra\n\nSources:\n[1] Australia, passages.tsv\n[2] Canberra'), 'canberra')
  t.equal(saidIn('Sources: none'), 'Sources: none')
  t.end()
})
