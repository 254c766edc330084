import t, { type Test } from 'tap'
import { appendFile, copyFile, readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readAlias } from '../../../index/versions/alias.ts'
import { contentHash } from '../../../index/hash.ts'
import { arrowTable, packVectors } from '../../../index/table/rows.ts'
import { abandonJob } from '../../../index/ingest/run.ts'
import { watchChanges } from '../../../index/writers/change-log.ts'
import { openIndex } from '../../../index/open.ts'
import { connectLance } from '../../../index/table/lance.ts'
import { embed, embedText, hashEmbedding, somePassages, tempDir } from '../helpers.ts'
import { journalOf, opened, planned, run } from './job-helpers.ts'

/** Counts the texts it embeds, and fails or stops after some. */
function counting(stopAfter = Infinity, stop: () => void = () => undefined) {
  const seen = { texts: 0 }
  return {
    seen,
    embed: async (texts: readonly string[]) => {
      seen.texts += texts.length
      if (seen.texts > stopAfter) stop()
      return embed(texts)
    },
  }
}

async function idsIn(dir: string, storedAs: string): Promise<string[]> {
  const connection = await connectLance(dir, 0)
  const table = await connection.openTable(storedAs)
  const rows = await table.query().select(['id']).toArrow()
  const ids = Array.from({ length: rows.numRows }, (_, i) => String(rows.getChild('id')?.get(i)))
  connection.close()
  return ids.sort()
}

function idsOf(passages: readonly { id: string }[]) {
  return passages.map((p) => p.id).sort()
}

await t.test('a first corpus becomes live whole, every step journalled', async (t) => {
  const dir = await tempDir(t)
  const index = await opened(t, dir)
  const corpus = somePassages(230)
  const folder = await planned(dir, 'j1', corpus)
  const states: string[] = []
  const result = await run(dir, 'j1', { onProgress: (phase, counters) => states.push(`${phase} ${counters.committed}`) })
  t.equal(result.rows, 230)
  t.same(await idsIn(dir, result.storedAs), idsOf(corpus))
  t.equal((await index.view().then((view) => view.search(embedText('lagoon summit'), { k: 3 }))).length, 3)
  const journal = await journalOf(folder)
  for (const shard of Array(5).keys())
    t.same(
      journal.filter((entry) => entry.shard === shard).map((entry) => entry.step),
      ['embedded', 'committed', 'verified'],
    )
  const ofStep = (step: string) => journal.filter((entry) => entry.step === step).map((entry) => entry.shard)
  t.same(ofStep('committed'), [0, 1, 2, 3, 4], 'in the order of the plan')
  for (const [at, { step, shard }] of journal.entries())
    if (step === 'embedded')
      t.ok(
        journal.slice(0, at).filter((entry) => entry.step === 'committed').length >= Number(shard) - 2,
        'three shards at most are on their way',
      )
  t.equal(journal[0]?.step, 'target')
  t.same(
    journal.slice(-7).map((entry) => entry.step),
    [...Array.from({ length: 5 }, () => 'verified'), 'carrying', 'live'],
  )
  t.equal(states.at(-1), 'verifying 230')
  t.equal(await readAlias({ dir, table: 'passages' }), 'passages.j1')
})

await t.test('adding a file writes into the live table and embeds only what changed', async (t) => {
  const dir = await tempDir(t)
  const index = await opened(t, dir)
  await planned(dir, 'j1', somePassages(200))
  await run(dir, 'j1')
  const changed = somePassages(260, 100).map((p) => (p.id === 'p150' ? { ...p, text: 'changed words' } : p))
  await planned(dir, 'j2', changed)
  const { seen, embed: counted } = counting()
  let last = { embedded: 0, skipped: 0, committed: 0 }
  const result = await run(dir, 'j2', { embed: counted, onProgress: (_, counters) => (last = counters) })
  t.equal(result.storedAs, 'passages.j1')
  t.equal(seen.texts, 161, '160 new ones and one changed')
  t.match(last, { embedded: 161, skipped: 99, committed: 260 })
  t.equal(await index.count(), 360)
  t.equal((await index.get('p150'))?.text, 'changed words')
  await planned(dir, 'j3', changed)
  const again = counting()
  await run(dir, 'j3', { embed: again.embed })
  t.equal(again.seen.texts, 0)
  t.equal(new Set(await idsIn(dir, 'passages.j1')).size, 360)
})

await t.test('replace: the old corpus answers until the new one is verified, unchanged vectors are taken over', async (t) => {
  const dir = await tempDir(t)
  const index = await opened(t, dir)
  await planned(dir, 'j1', somePassages(120))
  await run(dir, 'j1')
  const next = somePassages(150, 60)
  await planned(dir, 'j2', next)
  const during: number[] = []
  let changes = 0
  const warnings: string[] = []
  const { seen, embed: counted } = counting(0, () => {
    index
      .count()
      .then((count) => during.push(count))
      .catch(() => during.push(-1))
  })
  const result = await run(dir, 'j2', {
    replace: true,
    onWarning: (message) => warnings.push(message),
    embed: async (texts) => {
      const done = await counted(texts)
      if (changes++ > 0) return done
      t.equal(await index.delete(['p60', 'p61']), 2)
      await index.upsert(
        [
          { id: 'x', title: '', text: 'x' },
          { id: 'p62', title: '', text: 'later' },
        ],
        [embedText('x'), embedText('later')],
      )
      t.equal(await index.count(), 119, 'the live table has them at once')
      return done
    },
  })
  t.equal(seen.texts, 90)
  t.ok(during.length > 0 && during.every((count) => [118, 119, 120].includes(count)), `counts during the job: ${during.join()}`)
  t.same(
    await idsIn(dir, result.storedAs),
    idsOf([...next.slice(2), { id: 'x' }]),
    'with what was changed and without what was deleted meanwhile',
  )
  t.match(warnings, [/Kept the newer state of 4 passages: changed or deleted in the live table/])
  await index.refresh()
  t.equal(await index.count(), 149)
  t.equal((await index.get('p62'))?.text, 'later')
  t.equal((await index.view().then((view) => view.search(embedText('later'), { k: 1 })))[0]?.id, 'p62', 'its vector came with it')
})

await t.test('a passage that comes from another file keeps its vector and takes the new source', async (t) => {
  const dir = await tempDir(t)
  const index = await opened(t, dir)
  await planned(dir, 'j1', somePassages(60))
  await run(dir, 'j1')
  await planned(
    dir,
    'j2',
    somePassages(60).map((p) => ({ ...p, source: 'v2.tsv' })),
  )
  const { seen, embed: counted } = counting()
  await run(dir, 'j2', { embed: counted })
  t.equal(seen.texts, 0)
  t.equal(await index.count({ source: 'v2.tsv' }), 60)
  t.equal((await index.view().then((view) => view.search(embedText(somePassages(8)[7]?.text ?? ''), { k: 1 })))[0]?.id, 'p7')
})

await t.test('an interrupted job goes on where it stopped, and recognises a commit it was not told of', async (t) => {
  for (const replace of [true, false]) {
    const dir = await tempDir(t)
    const index = await opened(t, dir)
    if (!replace) {
      await planned(dir, 'j0', somePassages(60, 1000))
      await run(dir, 'j0')
    }
    const corpus = somePassages(300)
    const folder = await planned(dir, 'j1', corpus)
    const abort = new AbortController()
    const { embed: stopping } = counting(170, () => abort.abort(new Error('stopped here')))
    await t.rejects(run(dir, 'j1', { embed: stopping, signal: abort.signal, replace }), { message: 'stopped here' })
    const journal = await readFile(join(folder, 'journal.jsonl'), 'utf8')
    const done = (await journalOf(folder)).filter((entry) => entry.step === 'committed').length
    t.ok(done >= 1 && done < 6, `${done} shards were committed`)
    // As if the kill had come between the commit and its entry, in the middle of writing the next one.
    const cut = journal.lastIndexOf('\n{"step":"committed"')
    await truncate(join(folder, 'journal.jsonl'), cut)
    await appendFile(join(folder, 'journal.jsonl'), '\n{"step":"comm')
    const { seen, embed: counted } = counting()
    let last = { embedded: 0, skipped: 0, committed: 0 }
    const result = await run(dir, 'j1', { embed: counted, replace, onProgress: (_, counters) => (last = counters) })
    t.equal(seen.texts, 300 - done * 50, 'nothing that was committed is embedded again')
    t.match(last, { embedded: 300, skipped: 0, committed: 300 })
    t.same(await idsIn(dir, result.storedAs), idsOf([...corpus, ...(replace ? [] : somePassages(60, 1000))]))
    t.equal(await index.count(), replace ? 300 : 360)
  }
})

await t.test(
  'a job that was killed with several shards on their way takes those that the table has, and no more, for written',
  async (t) => {
    // Entries that the kill kept from being written, of the shards 2, 3 and 4: how many of them the table has all the same.
    for (const inTable of [0, 1, 2, 3]) {
      const dir = await tempDir(t)
      await opened(t, dir)
      const corpus = somePassages(300)
      const folder = await planned(dir, 'j1', corpus)
      const { embed: failing } = counting(50 * (2 + inTable), () => {
        throw new Error('stopped here')
      })
      await t.rejects(run(dir, 'j1', { embed: failing }), { message: 'stopped here' })
      const path = join(folder, 'journal.jsonl')
      const kept = (await journalOf(folder)).filter(({ step, shard }) => step === 'target' || Number(shard) < 2)
      const open = [2, 3, 4].map((shard) => ({ step: 'embedded', shard, embedded: 50, skipped: 0 }))
      await writeFile(path, [...kept, ...open].map((entry) => `\n${JSON.stringify(entry)}`).join(''))
      const { seen, embed: counted } = counting()
      const result = await run(dir, 'j1', { embed: counted })
      t.equal(seen.texts, 300 - 50 * (2 + inTable))
      t.same(await idsIn(dir, result.storedAs), idsOf(corpus))
    }
  },
)

await t.test('a job goes on where a power loss left whole manifests without the data of what was written last', async (t) => {
  const dir = await tempDir(t)
  await opened(t, dir)
  const corpus = somePassages(300)
  const folder = await planned(dir, 'j1', corpus)
  const { embed: failing } = counting(200, () => {
    throw new Error('stopped here')
  })
  await t.rejects(run(dir, 'j1', { embed: failing }), { message: 'stopped here' })
  // The journal has two of four shards for certain; of the third's file nothing reached the disk.
  const entries = (await journalOf(folder)).filter(({ step, shard }) => step !== 'committed' || Number(shard) < 2)
  await writeFile(join(folder, 'journal.jsonl'), entries.map((entry) => `\n${JSON.stringify(entry)}`).join(''))
  const data = join(dir, 'passages.j1.lance', 'data')
  const files = await Promise.all((await readdir(data)).map(async (name) => ({ name, made: (await stat(join(data, name))).mtimeMs })))
  files.sort((a, b) => a.made - b.made)
  t.equal(files.length, 4)
  const lost = join(data, files[2]?.name ?? '')
  // As long as it was, and with its last bytes.
  const bytes = await readFile(lost)
  await writeFile(lost, bytes.fill(0, 0, bytes.length - 64))
  const { seen, embed: counted } = counting()
  const warnings: string[] = []
  const result = await run(dir, 'j1', { embed: counted, onWarning: (message) => warnings.push(message) })
  t.equal(seen.texts, 200, 'what is on the disk for certain is kept')
  t.match(warnings, [/last rows could not be read/])
  t.same(await idsIn(dir, result.storedAs), idsOf(corpus))
})

await t.test('a first job whose table was made meanwhile by an upsert adds to it instead of replacing it', async (t) => {
  const dir = await tempDir(t)
  const index = await opened(t, dir)
  await planned(dir, 'j1', somePassages(100))
  const abort = new AbortController()
  const { embed: stopping } = counting(60, () => abort.abort(new Error('stopped')))
  await t.rejects(run(dir, 'j1', { embed: stopping, signal: abort.signal }), { message: 'stopped' })
  await abandonJob({ dir, table: 'passages', jobId: 'j1' })
  t.equal(await readAlias({ dir, table: 'passages' }), undefined)
  await index.upsert([{ id: 'own', title: '', text: 'kept' }], [embedText('kept')])
  await run(dir, 'j1')
  t.equal(await index.count(), 101)
  t.ok(await index.get('own'))
})

await t.test('a journal of another job is not followed: nothing counts as written, and no table of the other is dropped', async (t) => {
  const dir = await tempDir(t)
  const index = await opened(t, dir)
  const first = somePassages(100)
  const journal = join(await planned(dir, 'j1', first), 'journal.jsonl')
  await run(dir, 'j1')
  const rivers = await openIndex({ dir, table: 'rivers', model: hashEmbedding })
  t.teardown(() => rivers.close())
  const others = join(await planned(dir, 'j2', somePassages(30, 500)), 'journal.jsonl')
  await run(dir, 'j2', { table: 'rivers' })
  const added = somePassages(100, 100)
  const added2 = somePassages(100, 200)
  // Of a job that built the live table, of one of another collection, and of one that added to the live table.
  for (const [job, from, corpus] of [
    ['j3', journal, added],
    ['j4', others, added2],
    ['j5', join(dir, 'jobs', 'j3', 'journal.jsonl'), somePassages(100, 300)],
  ] as const) {
    await copyFile(from, join(await planned(dir, job, corpus), 'journal.jsonl'))
    await run(dir, job)
    t.ok(await index.get(corpus[0]?.id ?? ''), job)
  }
  t.equal(await index.count(), 400)
  for (const [job, from] of [
    ['j6', others],
    ['j7', journal],
  ] as const) {
    await copyFile(from, join(await planned(dir, job, added), 'journal.jsonl'))
    await abandonJob({ dir, table: 'passages', jobId: job })
  }
  t.same([await index.count(), await rivers.count()], [400, 30])
})

await t.test('a change log of another job is not followed: the job stops, and its passages are written once its own is back', async (t) => {
  const dir = await tempDir(t)
  const index = await opened(t, dir)
  await planned(dir, 'j1', somePassages(20))
  await run(dir, 'j1')
  const location = { dir, table: 'passages' }
  const logOf = (job: string) => join(dir, 'passages.changes', `${job}.jsonl`)
  await planned(dir, 'j3', somePassages(20, 100))
  for (const job of ['j2', 'j3']) await watchChanges(location, job)
  await index.upsert([{ id: 'p100', title: '', text: 'newer than j3' }], [embedText('newer than j3')])
  const own = await readFile(logOf('j3'))
  // As after j4 has replaced the table, which the log of j2 records.
  for (const change of [{ ids: ['p101', 'p102'] }, { replaced_by: 'j4' }]) {
    await appendFile(logOf('j2'), `\n${JSON.stringify({ job: 'j2', ...change })}`)
    await copyFile(logOf('j2'), logOf('j3'))
    const message = /^The change log of the job j3 is that of j2, .* cancel the job \(cepe index cancel j3\)/
    await t.rejects(run(dir, 'j3'), { code: 'index_invalid', message })
  }
  await writeFile(logOf('j3'), own)
  await run(dir, 'j3')
  t.equal(await index.count(), 40)
  t.match(await index.get('p100'), { text: 'newer than j3' })
  // As earlier software wrote them: without the job.
  await planned(dir, 'j5', somePassages(2, 100))
  await watchChanges(location, 'j5')
  await appendFile(logOf('j5'), '\n{"ids":["p100"]}')
  await run(dir, 'j5')
  t.match(await index.get('p100'), { text: 'newer than j3' })
})

await t.test('bad vectors stop the job before they are written; what was committed stays', async (t) => {
  const dir = await tempDir(t)
  const index = await opened(t, dir)
  await planned(dir, 'j0', somePassages(50))
  await run(dir, 'j0')
  await planned(dir, 'j1', somePassages(100, 50))
  let calls = 0
  const breaking = async (texts: readonly string[]) => {
    const vectors = await embed(texts)
    const [first] = vectors
    if (++calls === 2 && first !== undefined) first[0] = NaN
    return vectors
  }
  await t.rejects(run(dir, 'j1', { embed: breaking }), { code: 'index_invalid', message: /NaN/ })
  t.equal(await index.count(), 100)
  const wrong = () => Promise.resolve([new Float32Array(16)])
  await t.rejects(run(dir, 'j1', { embed: wrong }), { code: 'index_invalid', message: /vectors for/ })
  await t.rejects(run(dir, 'j1', { model: { ...hashEmbedding, id: 'another' } }), { code: 'index_invalid', message: /another.*reembed/ })
  await run(dir, 'j1')
  t.equal(await index.count(), 150)
})

const DAMAGES: Readonly<Record<string, (file: string) => Promise<void>>> = {
  empty: (file) => writeFile(file, ''),
  'cut off': async (file) => truncate(file, Math.floor((await stat(file)).size / 2)),
  zeros: async (file) => writeFile(file, Buffer.alloc((await stat(file)).size)),
}
for (const [how, damage] of Object.entries(DAMAGES))
  await t.test(`a newest manifest that is ${how} is put aside and the job repairs what it held`, async (t) => {
    const dir = await tempDir(t)
    await planned(dir, 'j1', somePassages(200))
    const abort = new AbortController()
    const { embed: stopping } = counting(130, () => abort.abort(new Error('stopped')))
    await t.rejects(run(dir, 'j1', { embed: stopping, signal: abort.signal }), { message: 'stopped' })
    const connection = await connectLance(dir, 0)
    const version = await (await connection.openTable('passages.j1')).version()
    connection.close()
    const newest = join(dir, 'passages.j1.lance', '_versions', `${2n ** 64n - 1n - BigInt(version)}.manifest`)
    await damage(newest)
    const warnings: string[] = []
    const result = await run(dir, 'j1', { onWarning: (message) => warnings.push(message) })
    t.match(warnings[0], /newest version.*_quarantine/)
    t.same(await idsIn(dir, result.storedAs), idsOf(somePassages(200)))
  })

await t.test("a job's table of which no version is whole is begun anew", async (t) => {
  const dir = await tempDir(t)
  await planned(dir, 'j1', somePassages(200))
  await stopped(t, { dir, jobId: 'j1', texts: 130 })
  const versions = join(dir, 'passages.j1.lance', '_versions')
  for (const name of await readdir(versions)) await DAMAGES['zeros']?.(join(versions, name))
  const result = await run(dir, 'j1')
  t.same(await idsIn(dir, result.storedAs), idsOf(somePassages(200)))
})

interface Stopped {
  readonly dir: string
  readonly jobId: string
  /** Texts that are embedded before the stop. */
  readonly texts: number
  readonly replace?: boolean
}

/** Runs a job until it has embedded some texts. */
async function stopped(t: Test, { dir, jobId, texts, replace = false }: Stopped): Promise<void> {
  const abort = new AbortController()
  const { embed: stopping } = counting(texts, () => abort.abort(new Error('stopped')))
  await t.rejects(run(dir, jobId, { embed: stopping, signal: abort.signal, replace }), { message: 'stopped' })
}

await t.test('a job that is resumed yields to what came after it, and says what it left out', async (t) => {
  const dir = await tempDir(t)
  const index = await opened(t, dir)
  await planned(dir, 'j0', somePassages(50, 1000))
  await run(dir, 'j0')
  await planned(dir, 'j1', somePassages(200))
  await stopped(t, { dir, jobId: 'j1', texts: 60 })
  const again = somePassages(30, 150).map((p) => ({ ...p, text: `${p.text} second version` }))
  await planned(dir, 'j2', again)
  await run(dir, 'j2')
  await index.upsert([{ id: 'p199', title: '', text: 'by hand' }], [embedText('by hand')])
  t.equal(await index.delete(['p1']), 1)
  const warnings: string[] = []
  await run(dir, 'j1', { onWarning: (message) => warnings.push(message) })
  t.match(warnings, [/Skipped 31 passages/])
  t.match((await index.get('p160'))?.text, /second version$/)
  t.equal((await index.get('p199'))?.text, 'by hand')
  t.equal(await index.get('p1'), undefined, 'what was deleted stays so')
  t.equal(await index.count(), 249)
})

await t.test('a resumed replace keeps what later jobs added; one that a later replace overtook does nothing', async (t) => {
  const dir = await tempDir(t)
  const index = await opened(t, dir)
  await planned(dir, 'j0', somePassages(50, 1000))
  await run(dir, 'j0')
  await planned(dir, 'j1', somePassages(200))
  await stopped(t, { dir, jobId: 'j1', texts: 60, replace: true })
  await planned(dir, 'j2', somePassages(20, 2000))
  await run(dir, 'j2')
  t.equal((await run(dir, 'j1', { replace: true })).rows, 220)
  await index.refresh()
  t.equal(await index.get('p1000'), undefined)
  t.ok(await index.get('p2005'))

  await planned(dir, 'j3', somePassages(100, 3000))
  await stopped(t, { dir, jobId: 'j3', texts: 30 })
  await planned(dir, 'j4', somePassages(10, 4000))
  await run(dir, 'j4', { replace: true })
  t.match(await run(dir, 'j3'), { supersededBy: 'j4' })
  await index.refresh()
  t.equal(await index.count(), 10)
})

await t.test('an upsert that makes the table while a first job builds its own is in it at the end, interrupted or not', async (t) => {
  const dir = await tempDir(t)
  const index = await opened(t, dir)
  await planned(dir, 'j1', somePassages(200))
  await stopped(t, { dir, jobId: 'j1', texts: 60 })
  await index.upsert([{ id: 'own', title: '', text: 'kept' }], [embedText('kept')])
  await index.upsert([{ id: 'p7', title: '', text: 'newer' }], [embedText('newer')])
  const { seen, embed: counted } = counting()
  await run(dir, 'j1', { embed: counted })
  t.ok(seen.texts <= 150, 'what was built is used')
  await index.refresh()
  t.equal(await index.count(), 201)
  t.equal((await index.get('p7'))?.text, 'newer')
})

await t.test('a job that meets several rows of one id leaves the newest, and says so', async (t) => {
  const dir = await tempDir(t)
  const index = await opened(t, dir)
  await planned(dir, 'j0', somePassages(100))
  await run(dir, 'j0')
  const connection = await connectLance(dir, 0)
  t.teardown(() => connection.close())
  const doubled = somePassages(10)
  const rows = {
    passages: doubled,
    hashes: doubled.map(contentHash),
    halves: packVectors(doubled, await embed(doubled.map(({ text }) => text)), hashEmbedding.dimension),
  }
  await (await connection.openTable('passages.j0')).add(arrowTable(rows, hashEmbedding.dimension))
  await planned(dir, 'j1', somePassages(110))
  const warnings: string[] = []
  await run(dir, 'j1', { onWarning: (message) => warnings.push(message) })
  t.match(warnings, [/Removed 10 rows/])
  t.equal(await index.count(), 110)
  t.equal(new Set(await idsIn(dir, 'passages.j0')).size, 110)
})

await t.test('a part of a document that was put after a job was ordered outlives the end of its shorter version', async (t) => {
  const dir = await tempDir(t)
  const index = await opened(t, dir)
  const parts = [1, 2, 3, 4].map((number) => ({ id: `doc#${number}`, title: '', text: `part ${number}` }))
  await planned(dir, 'j0', parts)
  await run(dir, 'j0')
  const folder = await planned(dir, 'j1', parts.slice(0, 2))
  const shard = join(folder, 'shards', '000000.jsonl')
  const lines = (await readFile(shard, 'utf8')).trimEnd().split('\n')
  await writeFile(shard, `${lines[0]}\n${JSON.stringify({ ...(JSON.parse(lines[1] ?? '') as object), parts: 2 })}\n`)
  await watchChanges({ dir, table: 'passages' }, 'j1')
  await index.upsert([{ id: 'doc#4', title: '', text: 'by hand' }], [embedText('by hand')])
  await run(dir, 'j1')
  t.same((await idsIn(dir, 'passages.j0')).sort(), ['doc#1', 'doc#2', 'doc#4'])
  t.equal((await index.get('doc#4'))?.text, 'by hand')
})
