import t from 'tap'
import type { OnText } from '../../../../src/inference/protocol.ts'
import { createTextStreamer } from '../../../../src/inference/worker/decoder/text-streamer.ts'

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
