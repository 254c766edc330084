/** A process that opens an index, by which its table is brought to the current schema, and ends. Argument: folder. */
import { openIndex } from '../../../../index/open.ts'
import { hashedWords } from '../../../../test/fixtures/hashed-words.ts'

const [dir = ''] = process.argv.slice(2)
process.stdout.write('started\n')
const index = await openIndex({ dir, model: hashedWords, onWarning: (message) => process.stderr.write(`${message}\n`) })
await index.info()
index.close()
