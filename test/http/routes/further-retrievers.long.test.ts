import path from 'node:path'
import t, { type Test } from 'tap'
import { openIndex } from '../../../index/open.ts'
import { buildApp } from '../../../src/app.ts'
import { loadConfig } from '../../../src/config.ts'
import type { Embedder } from '../../../src/inference/contract.ts'
import { createEmbedder } from '../../../src/inference/pool/models/create-embedder.ts'
import { createJobs } from '../../../src/jobs/jobs.ts'
import { configuredRetrievers, embeddersOf } from '../../../src/service/models.ts'
import type { Config } from '../../../src/settings.ts'
import { askedOf, randomRetriever, randomText } from '../../fixtures/random-retriever.ts'
import { recordingServices } from '../../helpers/recording-services.ts'
import { servicesAround } from '../../helpers/services.ts'
import { tempDir } from '../../index/helpers.ts'
import { streamed, toTsv } from '../../jobs/helpers.ts'

const K = 4
const passages = Array.from({ length: 30 }, (_, i) => ({ id: `p${i}`, title: `w${i}`, text: randomText(i, 8) }))
const dir = await tempDir(t)
const started = new Map<string, Embedder>()

/** One process for each retriever, for all that this file does. */
async function embedderIn(folder: string): Promise<Embedder> {
  const known = started.get(folder)
  if (known !== undefined) return known
  const embedder = await createEmbedder({ modelDir: folder })
  t.teardown(() => embedder.close({ drainMs: 0 }))
  started.set(folder, embedder)
  return embedder
}

interface Answer {
  readonly evidence: readonly { readonly id: string }[]
  readonly model: { readonly retriever: string }
}

/** An index with its jobs and embedders, as a service of these retrievers has them. `embedded` is waited for by questions. */
async function indexing(t: Test, config: Config, embedded: () => Promise<unknown> = () => Promise.resolve()) {
  const retrievers = await configuredRetrievers(config)
  const embedders = await embeddersOf<Embedder>(retrievers, async (folder) => {
    const embedder = await embedderIn(folder.dir)
    const embed: Embedder['embed'] = async (texts, run) => {
      const vectors = await embedder.embed(texts, run)
      if (run.priority === 'question') await embedded()
      return vectors
    }
    return { ...embedder, embed }
  })
  const index = await openIndex({ dir: config.INDEX_DIR, ...retrievers, consistencyMs: 0 })
  const jobs = createJobs({ index, ...embedders, jobsDir: path.join(config.INDEX_DIR, 'jobs') })
  t.teardown(async () => {
    await jobs.close()
    index.close()
  })
  /** Puts a table of the first retriever behind the name. */
  const replace = async () => jobs.wait((await jobs.addUpload({ bytes: streamed(toTsv(passages)), options: { replace: true } })).id)
  return { index, jobs, embedders, replace }
}

await t.test('a table of another retriever of the same shape takes over while questions are asked', async (t) => {
  const folders = [await randomRetriever(dir, { seed: 5 }), await randomRetriever(dir, { seed: 6 })] as const
  const both = [await embedderIn(folders[0]), await embedderIn(folders[1])]
  const { questions, expected } = await askedOf(both, { passages, count: 4, k: K })
  const [byFirst, bySecond] = expected.map(({ model }) => model)
  t.notSame(expected[0]?.ids, expected[1]?.ids)
  const config = (own: Partial<Config>) => loadConfig({ INDEX_DIR: path.join(dir, 'index'), LOG_LEVEL: 'silent', ...own }, {})
  const before = await indexing(t, config({ RETRIEVER_DIR: folders[0] }))
  t.match(await before.replace(), { state: 'done', model: byFirst })

  let meanwhile: () => Promise<unknown> = () => Promise.resolve()
  const settings = config({ RETRIEVER_DIR: folders[1], FURTHER_RETRIEVERS: folders[0] })
  const { index, jobs, embedders, replace } = await indexing(t, settings, () => meanwhile())
  const answering = { ...recordingServices().services, retriever: { ...embedders, index, method: 'dense' as const } }
  const app = await buildApp(await servicesAround(t, answering, { index, jobs, ...embedders }), settings, '0.0.0-test')
  t.teardown(() => app.close())
  /** Which of the models answers a question as it must; none, and it is mixed. */
  const ask = async (i: number): Promise<string> => {
    const response = await app.inject({ method: 'POST', url: '/v1/answer', payload: { question: questions[i], k: K } })
    const { evidence, model } = response.json<Answer>()
    const as = expected.find(({ ids }) => JSON.stringify(ids[i]) === JSON.stringify(evidence.map(({ id }) => id)))
    return as?.model === model.retriever ? as.model : `mixed: ${response.body}`
  }
  for (const i of questions.keys()) t.equal(await ask(i), byFirst)

  // The table is replaced when the question is embedded, and not searched yet.
  meanwhile = async () => {
    meanwhile = () => Promise.resolve()
    t.match(await replace(), { state: 'done', model: bySecond })
  }
  const during = [ask(0)]
  for (let at = 1; at < 30; at++) during.push(ask(at % questions.length))
  const seen = await Promise.all(during)
  t.equal(seen[0], bySecond, 'embedded again')
  t.same(
    seen.filter((one) => !expected.some(({ model }) => model === one)),
    [],
  )
  for (const i of questions.keys()) t.equal(await ask(i), bySecond)
})
