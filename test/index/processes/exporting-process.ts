/**
 * A process that begins to read all passages of an index, says the id of the first, goes on once its standard input ends, and says the others' ids.
 * Arguments: folder.
 */
import { once } from 'node:events'
import { openIndex } from '../../../index/open.ts'
import { hashedWords } from '../../fixtures/hashed-words.ts'

const [dir = ''] = process.argv.slice(2)

const index = await openIndex({ dir, model: hashedWords })
const ended = once(process.stdin.resume(), 'end')
let first = true
for await (const { id } of index.export()) {
  process.stdout.write(`${id}\n`)
  if (first) await ended
  first = false
}
index.close()
