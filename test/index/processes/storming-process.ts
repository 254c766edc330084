/**
 * A process that puts, deletes and compacts without end, and says on standard output what it is about to do and what was
 * acknowledged: "try <id> <round>", "ok <id> <round>"; round 0 means deleted. What `writers/kills.long.test.ts` kills.
 * Arguments: folder, first round.
 */
import { openIndex } from '../../../index/open.ts'
import { compactionCommand } from '../../../index/compaction/compact.ts'
import { embedWords, hashedWords } from '../../fixtures/hashed-words.ts'
import { IDS, stormPassage } from '../../fixtures/storm-passages.ts'

const [dir = '', first = '1'] = process.argv.slice(2)
const PER_PUT = 3
const COMPACT_EVERY = 12
const DELETE_EVERY = 5

const say = (text: string): boolean => process.stdout.write(`${text}\n`)
const index = await openIndex({ dir, model: hashedWords, compactAfter: 8, keepMs: 0, consistencyMs: 0 })
say('started')
let compacting: Promise<unknown> = Promise.resolve()
for (let round = Number(first); ; round++) {
  const ids = Array.from({ length: PER_PUT }, (_, i) => (round * PER_PUT + i * 7) % IDS)
  if (round % DELETE_EVERY === 0) {
    const [gone = 0] = ids
    say(`try ${gone} 0`)
    await index.delete([stormPassage(gone, 0).id])
    say(`ok ${gone} 0`)
    continue
  }
  const passages = [...new Set(ids)].map((id) => stormPassage(id, round))
  for (const { id } of passages) say(`try ${id.slice(1)} ${round}`)
  await index.upsert(
    passages,
    passages.map(({ text }) => embedWords(text)),
  )
  for (const { id } of passages) say(`ok ${id.slice(1)} ${round}`)
  if (round % COMPACT_EVERY === 0)
    compacting = compacting.then(() => compactionCommand({ dir, table: 'passages', task: 'compact', keepMs: 0, dryRun: false }))
}
