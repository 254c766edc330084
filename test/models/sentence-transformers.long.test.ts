import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t, { type Test } from 'tap'
import { compareBuilds } from '../../src/inference/worker/tasks/verify.ts'
import { buildModel } from '../../models/build.ts'
import { openCheckpoint } from '../../models/open-checkpoint.ts'
import { DTYPES } from '../../models/dtypes.ts'
import { createEmbedder } from '../../src/inference/pool/models/create-embedder.ts'
import { startServer } from '../helpers/cli.ts'
import { root } from '../helpers/root.ts'
import { tinyService } from '../helpers/service-settings.ts'
import { tempDir } from '../index/helpers.ts'

/** Random retrievers as sentence-transformers saves them, with its own vectors (test/fixtures/sentence-transformers/make.py; XLM-R and ModernBERT: test/fixtures/rerankers/make.py). */
const FIXTURES = path.join(root, 'test/fixtures/sentence-transformers')
const ATOL = 1e-5
const ADMIN_KEY = 'a-key-for-tests-only'

interface Golden {
  readonly texts: readonly string[]
  readonly passages: readonly (readonly number[])[]
  readonly queries: readonly (readonly number[])[]
}
async function goldenOf(kind: string): Promise<Golden> {
  return JSON.parse(await readFile(path.join(FIXTURES, kind, 'golden.json'), 'utf8')) as Golden
}
function farthest(a: readonly ArrayLike<number>[], b: readonly (readonly number[])[]): number {
  return Math.max(...a.flatMap((row, i) => Array.from(row, (value, j) => Math.abs(value - (b[i]?.[j] ?? NaN)))))
}

for (const kind of ['mean', 'cls', 'normalised', 'xlm-roberta', 'modern-bert']) {
  await t.test(`${kind}: vectors as sentence-transformers makes them`, async (t) => {
    const { texts, passages, queries } = await goldenOf(kind)
    const modelDir = path.join(t.testdir(), kind)
    const manifest = await buildModel({ checkpointDir: path.join(FIXTURES, kind), outDir: modelDir, dtype: 'f32' })
    const embedder = await createEmbedder({ modelDir })
    t.teardown(() => embedder.close({ drainMs: 0 }))
    const prompt = (manifest.architecture === 'contriever' && manifest.embedding?.query_prompt) || ''
    t.ok(farthest(await embedder.embed(texts, { priority: 'bulk' }), passages) < ATOL)
    const asked = texts.map((text) => prompt + text)
    t.ok(farthest(await embedder.embed(asked, { priority: 'question' }), queries) < ATOL)
  })
}

for (const kind of ['xlm-roberta', 'modern-bert']) {
  await t.test(`${kind}: every dtype builds and embeds alike`, async (t) => {
    const dir = await tempDir(t)
    const samples = [{ contexts: [[1, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 2]], prompt: [] }]
    for (const dtype of DTYPES) {
      await buildModel({ checkpointDir: path.join(FIXTURES, kind), outDir: path.join(dir, dtype), dtype })
      const distance = await compareBuilds(path.join(dir, dtype), path.join(dir, 'f32'), samples)
      const cosine = distance.kind === 'retriever' ? distance.leastCosine : NaN
      // 4 bits are coarse for matrices this small.
      t.ok(cosine > (dtype === 'int4' || dtype === 'f16-int4' ? 0.8 : 0.99), `${dtype}: ${cosine}`)
    }
  })
}

/** The scores over HTTP of the golden texts as passages, by id, for one of them as the question. */
async function scoresOf(t: Test, dir: string, checkpoint: string): Promise<ReadonlyMap<string, number>> {
  const { texts } = await goldenOf('cls')
  const corpus = path.join(dir, 'corpus.tsv')
  await writeFile(corpus, ['id\ttext\ttitle', ...texts.map((text, i) => `${i}\t${text}\t`)].join('\n'))
  const server = await startServer(
    tinyService(dir, { CEPE_RETRIEVER_CHECKPOINT: checkpoint, CEPE_CORPUS: corpus, CEPE_ADMIN_KEY: ADMIN_KEY }),
  )
  t.teardown(() => server.stop())
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${ADMIN_KEY}` }
  const body = JSON.stringify({ passages: [{ id: 'put', title: '', text: texts[0] }] })
  t.equal((await fetch(`${server.url}/v1/passages`, { method: 'PUT', headers, body })).status, 200)
  const query = JSON.stringify({ query: texts[1], k: 5, method: 'dense' })
  const response = await fetch(`${server.url}/v1/search`, { method: 'POST', headers, body: query })
  const { passages: found } = (await response.json()) as { passages: { id: string; score: number }[] }
  return new Map(found.map(({ id, score }) => [id, score]))
}

function dot(a: readonly number[] = [], b: readonly number[] = []): number {
  return a.reduce((sum, value, i) => sum + value * (b[i] ?? NaN), 0)
}

await t.test('over HTTP a question is embedded with the prompt, a passage without it', async (t) => {
  const { passages, queries } = await goldenOf('cls')
  const scores = await scoresOf(t, await tempDir(t), path.join(FIXTURES, 'cls'))
  t.equal(scores.size, 5)
  for (const [id, score] of scores) {
    const passage = passages[id === 'put' ? 0 : Number(id)]
    t.ok(Math.abs(score - dot(queries[1], passage)) < 0.01, `${id}: ${score}`)
  }
})

await t.test('a passage is embedded with the prompt that is declared for passages, by a job and when it is put', async (t) => {
  const { queries } = await goldenOf('cls')
  // With the queries' prompt declared for passages too, passages have the vectors of queries.
  const dir = await tempDir(t)
  const checkpoint = path.join(dir, 'passages')
  await cp(path.join(FIXTURES, 'cls'), checkpoint, { recursive: true })
  const file = path.join(checkpoint, 'config_sentence_transformers.json')
  const declared = JSON.parse(await readFile(file, 'utf8')) as { prompts: { query: string } }
  await writeFile(file, JSON.stringify({ prompts: { query: declared.prompts.query, document: declared.prompts.query } }))
  const scores = await scoresOf(t, dir, checkpoint)
  t.equal(scores.size, 5)
  for (const [id, score] of scores) {
    const passage = queries[id === 'put' ? 0 : Number(id)]
    t.ok(Math.abs(score - dot(queries[1], passage)) < 0.01, `${id}: ${score}`)
  }
})

await t.test('what is declared and not computed is refused by its file', async (t) => {
  const declared = async (file: string, value: unknown, changed: (text: string) => string = (text) => text) => {
    const dir = path.join(t.testdir(), 'checkpoint')
    await rm(dir, { recursive: true, force: true })
    await cp(path.join(FIXTURES, 'cls'), dir, { recursive: true })
    await mkdir(path.dirname(path.join(dir, file)), { recursive: true })
    await writeFile(path.join(dir, file), JSON.stringify(value))
    const tokenizer = path.join(dir, 'tokenizer.json')
    await writeFile(tokenizer, changed(await readFile(tokenizer, 'utf8')))
    const checkpoint = await openCheckpoint(dir)
    return checkpoint
  }
  const modules = (...types: string[]) => types.map((type, i) => ({ path: i === 0 ? '' : '1_Pooling', type: `a.b.${type}` }))
  const pooling = '1_Pooling/config.json'
  const prompts = 'config_sentence_transformers.json'
  for (const [file, value, message] of [
    ['modules.json', modules('Transformer', 'Pooling', 'Dense'), /Dense/],
    ['modules.json', modules('Transformer'), /supported are/],
    [
      'modules.json',
      [
        { path: '', type: 'Transformer' },
        { path: '../../etc', type: 'Pooling' },
      ],
      /supported is 1_Pooling/,
    ],
    [pooling, { pooling_mode: 'lasttoken' }, /lasttoken/],
    [pooling, { pooling_mode_cls_token: true, pooling_mode_max_tokens: true }, /cls and max/],
    [pooling, { pooling_mode: 'cls', include_prompt: false }, /include_prompt/],
    [prompts, { prompts: { query: 'q: ' }, default_prompt_name: 'query' }, /default_prompt_name/],
    [prompts, { similarity_fn_name: 'euclidean' }, /dot product/],
  ] as const)
    await t.rejects(declared(file, value), { code: 'unsupported', message })
  await t.resolves(declared('sentence_bert_config.json', { do_lower_case: true }), 'as the tokenizer does')
  const cased = (text: string): string => text.replace(/"lowercase":\s*true/, '"lowercase": false')
  await t.rejects(declared('sentence_bert_config.json', { do_lower_case: true }, cased), {
    code: 'unsupported',
    message: /do_lower_case is true/,
  })
  await t.rejects(declared(pooling, { pooling_mode: 7 }), { code: 'checkpoint_invalid' })
  const one = await declared(prompts, { prompts: { query: 'q: ' } })
  const other = await declared(prompts, { prompts: { query: 'other: ' } })
  t.not(one.revision, other.revision, 'another prompt makes other vectors')
  t.match((await declared(prompts, { prompts: { query: 'q: ', document: '', passage: 'p: ' } })).embedding, { passagePrompt: undefined })
  t.match((await declared(prompts, { prompts: { query: 'q: ', passage: 'p: ' } })).embedding, { queryPrompt: 'q: ', passagePrompt: 'p: ' })
})
