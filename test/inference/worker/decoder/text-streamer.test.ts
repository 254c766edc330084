import t from 'tap'
import type { OnText } from '../../../../src/inference/protocol.ts'
import { createTextStreamer, textToStop } from '../../../../src/inference/worker/decoder/text-streamer.ts'

const STOP = 99
/** A tokenizer whose tokens are bytes of a text. */
function bytesOf(...parts: readonly (string | readonly number[])[]) {
  const tokens = parts.map((part) => (typeof part === 'string' ? [...Buffer.from(part)] : part))
  const decode = (ids: readonly number[]): string => new TextDecoder().decode(Uint8Array.from(ids.flatMap((id) => tokens[id] ?? [])))
  return { tokenizer: { decode }, ids: tokens.map((_, id) => id) }
}

for (const [name, parts, pieces] of [
  ['words come one by one, the first without its space', [' the', ' black', ' sea'], ['the', ' black', ' sea']],
  ['white space waits for what follows it', [' a', ' ', ' ', 'b', ' '], ['a', '  b']],
  ['a character in several bytes comes whole', ['caf', [0xc3], [0xa9], [0xf0, 0x9f], [0x98, 0x80], '!'], ['caf', 'é', '😀', '!']],
  ['bytes that never become a character are left to the end', ['x', [0xc3]], ['x']],
  ['bytes that are none come with what follows', ['x', [0xff], 'y'], ['x', '\uFFFDy']],
  ['nothing comes after a line end', [' one', ' two\nthree', ' four'], ['one', ' two']],
  ['an empty answer is not said', [' ', '\n', 'late'], []],
] as const) {
  t.test(name, (t) => {
    const { tokenizer, ids } = bytesOf(...parts)
    const said: Parameters<OnText>[0][] = []
    const onToken = createTextStreamer({ tokenizer, stopIds: [STOP], onText: (piece) => said.push(piece) })
    for (const id of [...ids, STOP]) onToken(id)
    t.same(
      said.map(({ text }) => text),
      pieces,
    )
    const joined = said.map(({ text }) => text).join('')
    t.ok(tokenizer.decode(ids).trim().startsWith(joined), 'the front of the answer')
    said.forEach(({ from }, i) =>
      t.equal(
        from,
        said.slice(0, i).reduce((sum, { text }) => sum + text.length, 0),
      ),
    )
    t.end()
  })
}

t.test('a stop ends the answer, and nothing of it is said, however it is cut into tokens', (t) => {
  const { tokenizer, ids } = bytesOf(' one', ' EN', 'X', ' E', 'ND', ' more')
  const said: Parameters<OnText>[0][] = []
  const onToken = createTextStreamer({ tokenizer, stopIds: [STOP], stops: [' END'], onText: (piece) => said.push(piece) })
  t.same(ids.map(onToken), [false, false, false, false, true, true])
  t.same(
    said.map(({ text }) => text),
    ['one', ' ENX'],
  )
  t.end()
})

t.test('text of the answer before the line end of the stop token is kept, streamed or not', (t) => {
  for (const [parts, answer] of [
    [[' 5', '%\n'], '5%'],
    [[' C', '++\n\n'], 'C++'],
    [[' (1', 'MiB', ')\r\n'], '(1MiB)'],
    [[' a \u00e9', '")\n'], 'a \u00e9")'],
    [[' Rome', '\n'], 'Rome'],
    // A line end at once says that there is no answer, whatever is written before it.
    [[')\n'], ''],
    [[' ', '.\n\n'], ''],
  ] as const) {
    const { tokenizer, ids } = bytesOf(...parts)
    const stopIds = [ids.length - 1]
    t.same(textToStop(ids, stopIds, tokenizer).text.trim(), answer, answer)
    let said = ''
    const onToken = createTextStreamer({ tokenizer, stopIds, onText: ({ text }) => (said += text) })
    t.same(ids.map(onToken).lastIndexOf(true), ids.length - 1, 'and it stops')
    t.equal(said, answer)
  }
  const { tokenizer, ids } = bytesOf(' 5', '%\n', '</s>')
  t.same(textToStop([0, 1], [1], tokenizer, true), { text: ' 5', stopped: true }, 'a form has no other text')
  t.same(textToStop([0, 2], [1, 2], tokenizer), { text: ' 5', stopped: true }, 'nor has an end token a text')
  t.same(textToStop(ids.slice(0, 1), [1], tokenizer), { text: ' 5', stopped: false })
  t.end()
})
