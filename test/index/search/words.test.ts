import t, { type Test } from 'tap'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Embed, Passage } from '../../../index/contract.ts'
import { openIndex } from '../../../index/open.ts'
import { connectForWriting, connectLance } from '../../../index/table/lance.ts'
import { createLiveTable } from '../../../index/versions/live-table.ts'
import { readWordIndex } from '../../../index/table/words.ts'
import { migrateIndex } from '../../../index/versions/migrate-index.ts'
import { embed, embedText, hashEmbedding, tempDir } from '../helpers.ts'
import { planned, run } from '../ingest/job-helpers.ts'

/** Sentences of one language by id, queries with the ids that each must find, and the language of the stems. */
interface Case {
  readonly language: string
  readonly stems: string
  readonly texts: Readonly<Record<string, string>>
  readonly queries: Readonly<Record<string, readonly string[]>>
}

const CASES: readonly Case[] = [
  {
    language: 'English',
    stems: 'en',
    texts: {
      who: 'The Who played their first concert in a small hall near the river, and the audience asked them to come again.',
      phone: 'The company AT&T laid a cable under the ocean so that people could speak with each other over long distances.',
      commit: 'The fault was mended in commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b, which was released the next morning.',
      cafe: 'They met in the caf\u00e9 on Sundays and talked about the weather, about music and about their gardens.',
    },
    queries: {
      'The Who': ['who'],
      'AT&T': ['phone'],
      '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b': ['commit'],
      'cafe\u0301': ['cafe'],
      concerts: ['who'],
    },
  },
  {
    language: 'German',
    stems: 'de',
    texts: {
      not: 'Die Not der Bauern war in jenem Winter so gro\u00df, dass viele ihre H\u00f6fe verlassen und in die Stadt ziehen mussten.',
      bruecke: 'Der B\u00fcrgermeister hat die neue Br\u00fccke am Montag er\u00f6ffnet, und viele Menschen sind dar\u00fcber gegangen.',
    },
    queries: { Not: ['not'], 'Br\u00fccken': ['bruecke'], Bauern: ['not'] },
  },
  {
    language: 'French',
    stems: 'fr',
    texts: {
      pont: 'Le vieux pont de la ville a \u00e9t\u00e9 reconstruit apr\u00e8s la guerre par des ma\u00e7ons qui venaient de toute la r\u00e9gion.',
      jardin: "Les jardins du ch\u00e2teau sont ouverts tous les dimanches, et les visiteurs peuvent s'y promener librement.",
    },
    queries: { jardin: ['jardin'], chateau: ['jardin'], 'ma\u00e7ons': ['pont'] },
  },
  {
    language: 'Spanish',
    stems: 'es',
    texts: {
      puente: 'El puente sobre el r\u00edo fue construido por los vecinos del pueblo durante los meses de verano del a\u00f1o pasado.',
      nino: 'Los ni\u00f1os de la escuela cantan todas las ma\u00f1anas una canci\u00f3n que aprendieron de su maestra.',
    },
    queries: { puentes: ['puente'], 'nin\u0303o': ['nino'], cancion: ['nino'] },
  },
  {
    language: 'Russian',
    stems: 'ru',
    texts: {
      most: '\u0421\u0442\u0430\u0440\u044b\u0439 \u043c\u043e\u0441\u0442 \u0447\u0435\u0440\u0435\u0437 \u0440\u0435\u043a\u0443 \u0431\u044b\u043b \u043f\u043e\u0441\u0442\u0440\u043e\u0435\u043d \u0436\u0438\u0442\u0435\u043b\u044f\u043c\u0438 \u0433\u043e\u0440\u043e\u0434\u0430 \u0434\u0432\u0435\u0441\u0442\u0438 \u043b\u0435\u0442 \u0442\u043e\u043c\u0443 \u043d\u0430\u0437\u0430\u0434.',
      kniga:
        '\u0412 \u0431\u0438\u0431\u043b\u0438\u043e\u0442\u0435\u043a\u0435 \u0445\u0440\u0430\u043d\u044f\u0442\u0441\u044f \u043a\u043d\u0438\u0433\u0438, \u043a\u043e\u0442\u043e\u0440\u044b\u0435 \u043d\u0430\u043f\u0438\u0441\u0430\u043b\u0438 \u0438\u0437\u0432\u0435\u0441\u0442\u043d\u044b\u0435 \u043f\u0438\u0441\u0430\u0442\u0435\u043b\u0438 \u043d\u0430\u0448\u0435\u0433\u043e \u0432\u0440\u0435\u043c\u0435\u043d\u0438.',
    },
    queries: { '\u043a\u043d\u0438\u0433\u0430': ['kniga'], '\u043c\u043e\u0441\u0442': ['most'] },
  },
  {
    language: 'Chinese',
    stems: 'none',
    texts: {
      beijing:
        '\u5317\u4eac\u662f\u4e2d\u534e\u4eba\u6c11\u5171\u548c\u56fd\u7684\u9996\u90fd\uff0c\u4e5f\u662f\u5168\u56fd\u7684\u653f\u6cbb\u4e2d\u5fc3\u548c\u6587\u5316\u4e2d\u5fc3\u3002',
      river:
        '\u957f\u6c5f\u662f\u4e9a\u6d32\u7b2c\u4e00\u957f\u6cb3\uff0c\u53d1\u6e90\u4e8e\u9752\u85cf\u9ad8\u539f\uff0c\u6d41\u5165\u4e1c\u6d77\u3002',
    },
    queries: { '\u9996\u90fd': ['beijing'], '\u957f\u6c5f': ['river'] },
  },
  {
    language: 'Japanese',
    stems: 'none',
    texts: {
      tokyo:
        '\u6771\u4eac\u306f\u65e5\u672c\u306e\u9996\u90fd\u3067\u3042\u308a\u3001\u4e16\u754c\u6700\u5927\u306e\u90fd\u5e02\u306e\u4e00\u3064\u3067\u3059\u3002',
      fuji: '\u5bcc\u58eb\u5c71\u306f\u65e5\u672c\u3067\u4e00\u756a\u9ad8\u3044\u5c71\u3067\u3001\u591a\u304f\u306e\u4eba\u304c\u767b\u308a\u307e\u3059\u3002',
    },
    queries: { '\u9996\u90fd': ['tokyo'], '\u5bcc\u58eb\u5c71': ['fuji'] },
  },
  {
    language: 'Thai',
    stems: 'none',
    texts: {
      bangkok:
        '\u0e01\u0e23\u0e38\u0e07\u0e40\u0e17\u0e1e\u0e21\u0e2b\u0e32\u0e19\u0e04\u0e23\u0e40\u0e1b\u0e47\u0e19\u0e40\u0e21\u0e37\u0e2d\u0e07\u0e2b\u0e25\u0e27\u0e07\u0e02\u0e2d\u0e07\u0e1b\u0e23\u0e30\u0e40\u0e17\u0e28\u0e44\u0e17\u0e22',
      river:
        '\u0e41\u0e21\u0e48\u0e19\u0e49\u0e33\u0e40\u0e08\u0e49\u0e32\u0e1e\u0e23\u0e30\u0e22\u0e32\u0e44\u0e2b\u0e25\u0e1c\u0e48\u0e32\u0e19\u0e01\u0e25\u0e32\u0e07\u0e40\u0e21\u0e37\u0e2d\u0e07',
    },
    queries: { '\u0e40\u0e21\u0e37\u0e2d\u0e07\u0e2b\u0e25\u0e27\u0e07': ['bangkok'], '\u0e41\u0e21\u0e48\u0e19\u0e49\u0e33': ['river'] },
  },
  {
    language: 'Korean',
    stems: 'none',
    texts: {
      seoul: '\uc11c\uc6b8\uc740 \ub300\ud55c\ubbfc\uad6d\uc758 \uc218\ub3c4\uc774\uba70 \uac00\uc7a5 \ud070 \ub3c4\uc2dc\uc774\ub2e4.',
      busan: '\ubd80\uc0b0 \ud56d\uad6c\ub294 \ub098\ub77c\uc5d0\uc11c \uac00\uc7a5 \ud070 \ud56d\uad6c\uc774\ub2e4.',
    },
    queries: { '\ubd80\uc0b0': ['busan'] },
  },
  {
    language: 'Finnish',
    stems: 'fi',
    texts: {
      silta:
        'Vanha silta rakennettiin joen yli kaksisataa vuotta sitten, ja kaupungin asukkaat k\u00e4ytt\u00e4v\u00e4t sit\u00e4 yh\u00e4.',
      kirja: 'Kirjastossa on paljon kirjoja, jotka tunnetut kirjailijat ovat kirjoittaneet meid\u00e4n aikanamme.',
    },
    queries: { kirjastossa: ['kirja'], sillat: ['silta'], aikanamme: ['kirja'] },
  },
]

/** Enough texts for the language to be detected: the given ones, each a few times under other ids, are what is searched. */
function corpusOf({ texts }: Case): Passage[] {
  return Object.entries(texts).map(([id, text]) => ({ id, title: '', text }))
}

/** The embedding of words knows Latin letters alone. */
const ANY: Embed = (texts) =>
  Promise.resolve(texts.map((text) => Float32Array.from({ length: 32 }, (_, i) => 1 + (text.charCodeAt(i % text.length) % 7))))

async function storedIn(t: Test, dir: string) {
  const index = await openIndex({ dir, model: hashEmbedding, consistencyMs: 0 })
  t.teardown(() => index.close())
  return index
}

for (const one of CASES) {
  await t.test(`words are found in ${one.language}, stems where the engine has them`, async (t) => {
    const dir = await tempDir(t)
    await planned(dir, 'j1', corpusOf(one))
    const { storedAs } = await run(dir, 'j1', { embed: ANY })
    const index = await storedIn(t, dir)
    for (const [query, ids] of Object.entries(one.queries)) {
      const found = (await index.view().then((view) => view.searchText(query, { k: 10 }))).map(({ id }) => id)
      t.equal(found[0], ids[0], `${query}: ${found.join()}`)
    }
    const connection = await connectLance(dir, 0)
    t.teardown(() => connection.close())
    t.equal((await readWordIndex(await connection.openTable(storedAs))).language, one.stems)
  })
}

await t.test('a corpus of several languages has no stems', async (t) => {
  const dir = await tempDir(t)
  await planned(
    dir,
    'j1',
    CASES.flatMap((one) => corpusOf(one).map((passage) => ({ ...passage, id: `${one.language}-${passage.id}` }))),
  )
  const { storedAs } = await run(dir, 'j1', { embed: ANY })
  const connection = await connectLance(dir, 0)
  t.teardown(() => connection.close())
  t.equal((await readWordIndex(await connection.openTable(storedAs))).language, 'none')
})

await t.test('of equal passages the first ids are found, whatever their number', async (t) => {
  const index = await storedIn(t, await tempDir(t))
  const passages = Array.from({ length: 120 }, (_, i) => ({
    id: `t${String(i).padStart(3, '0')}`,
    title: 'Same',
    text: 'the same lagoon every time',
  }))
  const shuffled = [...passages.slice(60), ...passages.slice(0, 60).reverse()]
  await index.upsert(shuffled, await embed(shuffled.map(({ text }) => text)))
  const query = 'lagoon'
  const ways = {
    dense: (k: number) => index.view().then((view) => view.search(embedText(query), { k })),
    text: (k: number) => index.view().then((view) => view.searchText(query, { k })),
    hybrid: (k: number) => index.view().then((view) => view.searchHybrid(query, embedText(query), { k })),
  }
  const ids = passages.map(({ id }) => id)
  for (const [name, search] of Object.entries(ways))
    for (const k of [1, 3, 10, 119, 120, 500])
      t.same(
        (await search(k)).map(({ id }) => id),
        ids.slice(0, k),
        `${name}, k = ${k}`,
      )
})

await t.test('the order of words in a table of single puts does not turn round under a filter', async (t) => {
  const index = await storedIn(t, await tempDir(t))
  // "common" is in every passage of the filter's source and rare outside; "rare" the other way round.
  const passages: Passage[] = Array.from({ length: 40 }, (_, i) => ({
    id: `p${i}`,
    title: '',
    text: i < 10 ? `common words ${i === 3 ? 'rare' : 'plain'} number ${i}` : `other rare text number ${i}`,
    source: i < 10 ? 'a.txt' : 'b.txt',
  }))
  for (const passage of passages) await index.upsert([passage], await embed([passage.text]))
  const filter = { source: 'a.txt' }
  const order = async (more = {}) =>
    (await index.view().then((view) => view.searchText('rare common', { k: 40, ...more })))
      .filter(({ source }) => source === 'a.txt')
      .map(({ id, score }) => [id, Math.round(score * 1e4)])
  const connection = await connectLance(index.dir, 0)
  t.teardown(() => connection.close())
  const left = async () => {
    const table = await connection.openTable((await connection.tableNames()).find((name) => name.startsWith('passages')) ?? '')
    return (await table.listIndices()).filter(({ name }) => name === 'text_idx').map(({ numUnindexedRows }) => numUnindexedRows)
  }
  for (let waited = 0; waited < 20_000 && (await left())[0] !== 0; waited += 200) await sleep(200)
  t.same(await left(), [0], 'words are indexed once the puts have settled')
  t.same(await order({ filter }), await order())
})

await t.test('cepe migrate builds the word index of an earlier table anew, without embedding', async (t) => {
  const dir = await tempDir(t)
  await planned(dir, 'j1', corpusOf(CASES[5] as Case))
  const { storedAs } = await run(dir, 'j1', { embed: ANY })
  const connection = await connectLance(dir, 0)
  t.teardown(() => connection.close())
  const table = await connection.openTable(storedAs)
  await table.updateFieldMetadata([{ path: 'text', metadata: { 'cepe:words': null } }])
  const dry = await migrateIndex({ dir, table: 'passages', dryRun: true })
  t.match(dry.migrations, [/word index/])
  t.match((await migrateIndex({ dir, table: 'passages' })).migrations, [/word index/])
  await table.checkoutLatest()
  t.equal((await readWordIndex(table)).language, 'none')
  t.same((await migrateIndex({ dir, table: 'passages' })).migrations, [], 'nothing is left to do')
})

await t.test('a collection keeps the language that was chosen for it, also when its passages are replaced', async (t) => {
  const dir = await tempDir(t)
  const connection = await connectForWriting(dir)
  t.teardown(() => connection.close())
  await createLiveTable(connection, { dir, table: 'passages', model: hashEmbedding }, 'de')
  // English texts, whose plural a German stemmer leaves as it is.
  await planned(dir, 'j1', corpusOf(CASES[0] as Case))
  const { storedAs } = await run(dir, 'j1', { embed: ANY, replace: true })
  const index = await storedIn(t, dir)
  t.match(await readWordIndex(await connection.openTable(storedAs)), { language: 'de', chosen: 'de' })
  t.same((await index.view().then((view) => view.searchText('Not', { k: 3 }))).length, 0)
})
