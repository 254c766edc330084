/** A process that removes every collection but the main one: `remove-all <folder>`. Says when it begins. */
import { at } from '../../../base/at.ts'
import { IndexCollections } from '../../../index/collections/collections.ts'
import { openIndex } from '../../../index/open.ts'
import { hashEmbedding } from '../helpers.ts'

const collections = new IndexCollections({ main: await openIndex({ dir: at(process.argv, 2), model: hashEmbedding }) })
const names = await collections.names()
process.stdout.write('removing\n')
for (const name of names) if (name !== collections.main.table) await collections.remove(name)
collections.close()
