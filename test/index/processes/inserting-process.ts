/**
 * A process that inserts new passages into an index that others insert the same ones into, each of them several times at
 * once, as clients do whose request timed out. Arguments: folder, number of passages, number of the first, source.
 */
import { openIndex } from '../../../index/open.ts'
import { passageText } from '../../../index/contract.ts'
import { chunks } from '../../../index/table/write.ts'
import { embedWords, hashedWords } from '../../fixtures/hashed-words.ts'
import { syntheticPassage } from '../../fixtures/synthetic-corpus.ts'

const [dir = '', count = '0', first = '0', source = ''] = process.argv.slice(2)
const PER_REQUEST = 10
const TRIES = 3

const index = await openIndex({ dir, model: hashedWords })
process.stdout.write('started\n')
let failed = 0
for (const some of chunks([...Array(Number(count)).keys()], PER_REQUEST)) {
  const passages = some.map((i) => ({ ...syntheticPassage(Number(first) + i), source }))
  const vectors = passages.map((passage) => embedWords(passageText(passage)))
  const tries = await Promise.allSettled(Array.from({ length: TRIES }, () => index.upsert(passages, vectors)))
  failed += tries.filter(({ status }) => status === 'rejected').length
}
process.stdout.write(`failed ${failed}\n`)
index.close()
