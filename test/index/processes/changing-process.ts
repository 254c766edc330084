/**
 * A process that puts new contents in the place of passages that are there, one after the other without a pause, until its standard
 * input ends. Then it says how many it put, the longest that one took, in milliseconds, and what went wrong.
 * Arguments: folder, number of passages.
 */
import { openIndex } from '../../../index/open.ts'
import { messageOf } from '../../../base/errors.ts'
import { embedWords, hashedWords } from '../../fixtures/hashed-words.ts'
import { syntheticPassage } from '../../fixtures/synthetic-corpus.ts'

const [dir = '', count = '0'] = process.argv.slice(2)
/** Changes are spread over the whole table: coprime to the number of passages. */
const STRIDE = 7919

const warnings: string[] = []
const index = await openIndex({ dir, model: hashedWords, onWarning: (message) => warnings.push(message) })
const ended = new AbortController()
process.stdin.on('end', () => ended.abort()).resume()
process.stdout.write('started\n')
let longest = 0
let puts = 0
for (; !ended.signal.aborted; puts++) {
  const passage = { ...syntheticPassage((puts * STRIDE) % Number(count)), title: `Round ${puts}` }
  const started = performance.now()
  await index.upsert([passage], [embedWords(passage.text)]).catch((error: unknown) => warnings.push(messageOf(error)))
  longest = Math.max(longest, performance.now() - started)
}
process.stdout.write(`${JSON.stringify({ puts, longest, warnings })}\n`)
index.close()
