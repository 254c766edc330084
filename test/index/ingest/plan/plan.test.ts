import t from 'tap'
import { access, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { planCorpus, readShard } from '../../../../index/ingest/plan/plan.ts'
import type { ReadOptions } from '../../../../index/read/contract.ts'
import { readPassages } from '../../../../index/read/read.ts'
import { tempDir } from '../../helpers.ts'

// oxlint-disable-next-line typescript/require-await -- a stream that is there at once
async function* atOnce(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text)
}

async function plan(folder: string, text: string, options: ReadOptions = {}) {
  await mkdir(folder, { recursive: true })
  return planCorpus(readPassages(atOnce(text), options), { folder, maxRejectedShare: 1 })
}

await t.test('a document of many characters beyond Latin-1 is cut while the event loop turns', async (t) => {
  const folder = await tempDir(t)
  let turns = 0
  const timer = setInterval(() => turns++, 1)
  const { accepted } = await plan(folder, JSON.stringify({ id: 'd', text: `${'The delta is near the fjord. '.repeat(28_000)}—` }), {
    splitWords: 100,
  })
  clearInterval(timer)
  t.ok(accepted > 1500, `${accepted} passages`)
  t.ok(turns >= 5, `${turns} turns`)
})

await t.test('what is counted, and what the report says', async (t) => {
  const folder = await tempDir(t)
  const { read, rejected, accepted } = await plan(folder, 'id,text\n1,a\n\n2,"b\nb"\n3\n4,"c\nd\ne\n')
  t.same({ read, rejected, accepted }, { read: 7, rejected: 4, accepted: 2 })
  const report = (await readFile(join(folder, 'rejects.jsonl'), 'utf8')).trim().split('\n')
  t.match(
    report.map((line) => JSON.parse(line) as unknown),
    [
      { line: 6, reason: 'missing_column' },
      { line: 7, lines: 3, reason: 'malformed', detail: String },
    ],
  )
})

await t.test('a corpus that cannot be read leaves no copy behind', async (t) => {
  const folder = await tempDir(t)
  await t.rejects(
    planCorpus(
      (async function* () {
        yield* readPassages(atOnce('{"id":1,"text":"x"}\n'))
        throw new Error('cut off')
      })(),
      { folder, maxRejectedShare: 1 },
    ),
    { message: 'cut off' },
  )
  await t.rejects(access(join(folder, 'shards')), { code: 'ENOENT' })
})

await t.test('a shard is read as it was planned, wherever in a character a piece of its file ends', async (t) => {
  const folder = await tempDir(t)
  const lines = Array.from({ length: 40 }, (_, i) =>
    JSON.stringify({
      id: `p${i}`,
      title: i % 2 === 0 ? '' : 'Tïtle',
      text: `${i}${'é€😀x'.repeat(6000 + i)}`,
      source: 'a.tsv',
      metadata: { year: i },
    }),
  )
  const planned = await plan(folder, lines.join('\n'))
  t.same(planned.shard_rows, [40])
  const rows = await readShard(folder, 0, planned)
  t.same(
    rows.map(({ passage }) => passage),
    lines.map((line) => JSON.parse(line) as unknown),
  )
  await t.rejects(readShard(folder, 0, { ...planned, shard_rows: [41] }), { message: /holds 40 of 41/ })
})
