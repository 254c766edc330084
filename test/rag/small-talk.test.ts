import t from 'tap'
import { isSmallTalk } from '../../src/rag/no-answer/small-talk.ts'

const TALK = [
  ...['hello', 'Hi!', 'hey there', 'Hello world', 'good morning', 'Good afternoon everyone', 'Guten Tag', 'bonjour'],
  ...['thank you', 'Thanks a lot for your help!', 'thx', 'ok thanks', 'No, thank you.', 'Danke schön', "thanks, that's all"],
  ...['bye', 'See you later', 'have a nice day', 'ok', 'yes', 'No!', 'got it', 'never mind', 'sorry', 'cool', 'wow that is amazing'],
  ...['how are you?', 'Hi, how are you doing today?', "what's up", 'whats up', 'who are you?', 'What is your name?', 'are you a robot'],
  ...['What can you do?', 'what can I ask you', 'can you help me?', 'Hi! I need help', 'I have a question', 'tell me a joke'],
  ...['I love you', "I'm bored", 'you are great', "you're welcome", 'lol', 'hahaha', 'hmm', 'test', 'this is a test', '👍', '???', '...'],
  ...['what is the best restaurant near me', 'recommend me a good film for tonight', 'what is my name', 'what time is it', 'who am I'],
]
const QUESTIONS = [
  ...['what is the capital of australia', 'capital of france', 'canberra', 'And of Germany?', 'who is he', 'what is it', 'q', '你好吗'],
  ...['Hi, who composed Aida?', 'thanks, and who wrote it?', 'ok and when was it built', 'can you help me find the refund policy'],
  ...[
    'what is love',
    'what is a test',
    'how do I test this',
    'Do I need to work at night?',
    'help desk phone number',
    'what does hello mean',
  ],
  ...[
    'who wrote Hello, Dolly!',
    'Good Morning, Vietnam',
    'Yes Prime Minister',
    'OK Computer',
    'night of the long knives',
    'no smoking policy',
  ],
  ...[
    'Who wrote Yesterday?',
    'what is the time',
    'what is my notice period',
    'what is near Vienna',
    'Who played in Tonight?',
    'What can I do about a leak?',
    'who made the spinning jenny',
    'what are your opening hours',
    'where are you located',
    'test results',
  ],
]

t.test('greetings, thanks, assent and questions to the service about itself ask nothing of a corpus', (t) => {
  for (const message of TALK) t.ok(isSmallTalk(message), message)
  t.end()
})

t.test('any other word makes a message a question', (t) => {
  for (const message of QUESTIONS) t.notOk(isSmallTalk(message), message)
  t.end()
})

t.test('long messages take no time', (t) => {
  const started = performance.now()
  for (const unit of ['ha', 'hi ', 'ok ', 'thanks so very much a lot ', 'you are so really very ', 'how are you doing ', '1 2 3 '])
    t.notOk(isSmallTalk(`${unit.repeat(Math.floor(4000 / unit.length))} x`), unit)
  t.ok(performance.now() - started < 500)
  t.end()
})
