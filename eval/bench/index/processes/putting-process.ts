/**
 * A process that opens an index of clustered vectors, puts passages into it one by one, and ends.
 * Arguments: folder, number of passages, number of the first, clusters' rows.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { openIndex } from '../../../../index/open.ts'
import { clusteredVector, syntheticPassage } from '../../../../test/fixtures/synthetic-corpus.ts'
import { clusters } from '../../../../test/fixtures/synthetic-table.ts'

const [dir = '', count = '0', first = '0', rows = '0'] = process.argv.slice(2)
/** A service keeps running after a write, and compacts meanwhile. */
const LIVES_ON_MS = 300

const index = await openIndex({ dir, model: clusters, onWarning: (message) => process.stderr.write(`${message}\n`) })
for (let number = Number(first); number < Number(first) + Number(count); number++)
  await index.upsert([syntheticPassage(number)], [clusteredVector(number, Number(rows))])
await sleep(LIVES_ON_MS)
index.close()
