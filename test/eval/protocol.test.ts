import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { servicesClient } from '../../eval/client/in-process.ts'
import { toMarkdown } from '../../eval/report/blocks.ts'
import { f1 } from '../../eval/metrics/answer.ts'
import { parseOptions } from '../../eval/tasks/open-domain-qa/options.ts'
import { chooseRetrieval, followModel, prepare } from '../../eval/tasks/open-domain-qa/prepare.ts'
import { readRun } from '../../eval/tasks/open-domain-qa/record.ts'
import { buildReport } from '../../eval/tasks/open-domain-qa/report.ts'
import { askQuestions } from '../../eval/tasks/open-domain-qa/ask.ts'
import { factServices } from '../helpers/fact-services.ts'

const RAW = { k: '2', modes: 'cepe', encoderPassages: 'others', protocol: 'paper', recallDepth: '5', seed: '0', shots: '0' }

async function files(t: Test, contents: Readonly<Record<string, readonly object[]>>) {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-protocol-'))
  t.teardown(() => rm(dir, { recursive: true }))
  for (const [name, records] of Object.entries(contents))
    await writeFile(path.join(dir, name), records.map((record) => `${JSON.stringify(record)}\n`).join(''))
  return (name: string) => path.join(dir, name)
}
function fact(i: number, ctxs?: number) {
  return {
    question: `what is fact ${i}`,
    answer: [`a${i}`],
    ...(ctxs !== undefined && {
      ctxs: Array.from({ length: ctxs }, (_, c) => ({ title: `Fact ${i + c}`, text: `fact ${i + c} is a${i + c} indeed` })),
    }),
  }
}

t.test('passages come from the question file where it has them, without a retriever', async (t) => {
  const file = await files(t, { 'ctxs.jsonl': [fact(1, 3), fact(2, 3)], 'bare.jsonl': [fact(1)], 'mixed.jsonl': [fact(1, 3), fact(2)] })
  const chosen = async (name: string, changes: Record<string, string> = {}) =>
    (await chooseRetrieval(parseOptions({ ...RAW, dataset: file(name), ...changes }))).protocol.retrieval
  t.equal(await chosen('ctxs.jsonl'), 'supplied')
  t.equal(await chosen('bare.jsonl'), 'dense')
  t.equal(await chosen('ctxs.jsonl', { retrieval: 'dense' }), 'dense', 'what is asked for holds')
  await t.rejects(chosen('mixed.jsonl'), { code: 'options_invalid', message: /^1 of the 2 questions of mixed\.jsonl have passages/ })

  const { services } = factServices()
  const client = {
    ...servicesClient({ answering: services, close: () => Promise.resolve() }),
    search: () => Promise.reject(new Error('nothing is searched')),
  }
  const options = await chooseRetrieval(parseOptions({ ...RAW, dataset: file('ctxs.jsonl') }))
  const records = await askQuestions({ client, folder: file('run'), concurrency: 1, options })
  t.same(
    records.map(({ predictions }) => predictions[0]?.answer),
    ['a1', 'a2'],
  )
})

t.test('no demonstration is a test question, not only not the one asked', async (t) => {
  const file = await files(t, { 'test.jsonl': [fact(1), fact(2)], 'train.jsonl': [fact(1), fact(2), fact(3), fact(4), fact(5)] })
  const { services } = factServices()
  const client = servicesClient({ answering: services, close: () => Promise.resolve() })
  const options = parseOptions({ ...RAW, dataset: file('test.jsonl'), train: file('train.jsonl'), shots: '2' })
  const { pool, manifest } = await prepare(await chooseRetrieval(options), client)
  t.same(
    pool.map(({ question }) => question),
    ['what is fact 3', 'what is fact 4', 'what is fact 5'],
  )
  t.match(manifest.data.problems, [{ kind: 'training question that is a test question (training file)', count: 2 }])
  t.equal(manifest.subject.version, 2)
})

t.test('an unknown protocol is refused', (t) => {
  t.throws(() => parseOptions({ ...RAW, dataset: 'q.jsonl', protocol: 'exact' }), { code: 'options_invalid', message: /paper-exact/ })
  t.end()
})

t.test('paper-exact: long contexts keep their end, dumped prompts show them as cut', async (t) => {
  const file = await files(t, { 'ctxs.jsonl': [fact(1, 3)] })
  const { services } = factServices()
  const client = servicesClient({ answering: services, close: () => Promise.resolve() })
  const encoded = async (protocol: string) => {
    const options = parseOptions({
      ...RAW,
      dataset: file('ctxs.jsonl'),
      protocol,
      k: '3',
      kDecoder: '1',
      contextTokens: '4',
      dumpPrompts: true,
    })
    const [record] = await askQuestions({ client, folder: file(protocol), concurrency: 1, options: await chooseRetrieval(options) })
    return record?.prompts?.[0]?.encoder.map((text) => text.trim())
  }
  const exact = await encoded('paper-exact')
  const usual = await encoded('paper')
  t.equal(exact?.length, 2)
  t.ok(
    exact?.every((text) => text.endsWith('indeed') && !text.startsWith('Document')),
    String(exact),
  )
  t.ok(
    usual?.every((text) => text.startsWith('Document') && !text.endsWith('indeed')),
    String(usual),
  )
})

t.test("--protocol model: the model's own mode and k where none is given; the report says how the service answers", async (t) => {
  const own = { mode: 'map-rerank', k: 3, k_decoder: 1, demonstrations: 0, context_tokens: 64, max_new_tokens: 8 } as const
  const parsed = parseOptions({ ...RAW, dataset: 'q.jsonl', protocol: 'model', shots: 'service' })
  const none = followModel(parsed, own, { modes: false, k: false }).protocol
  t.match(none, { modes: ['map-rerank'], ks: [3], shots: null, k_decoder: null, context_tokens: null, max_new_tokens: null })
  const given = followModel(parsed, own, { modes: true, k: true }).protocol
  t.same([given.modes, given.ks], [parsed.protocol.modes, parsed.protocol.ks])

  const file = await files(t, { 'ctxs.jsonl': [fact(1, 3)] })
  const { services } = factServices()
  const client = { ...servicesClient({ answering: services, close: () => Promise.resolve() }), defaults: () => Promise.resolve(own) }
  const reported = async (protocol: string, given: { modes: boolean; k: boolean }) => {
    const raw = { ...RAW, dataset: file('ctxs.jsonl'), protocol, k: '2', modes: 'decoder-only', shots: 'service' }
    const options = followModel(await chooseRetrieval(parseOptions(raw)), own, given)
    const folder = file(`${protocol} ${given.modes}`)
    await askQuestions({ client, folder, concurrency: 1, options })
    return toMarkdown(buildReport([await readRun(folder)], { source: '', scores: [] }).blocks)
  }
  const said = 'The service itself would have answered in mode map-rerank with k = 3: 0 demonstrations, 1 passages in the decoder'
  const model = await reported('model', { modes: false, k: false })
  t.ok(model.includes(said), model)
  t.match(model, /That is the setting map-rerank, k = 3 here/)
  const paper = await reported('paper', { modes: true, k: true })
  t.ok(paper.includes(said), paper)
  t.match(paper, /No setting here is asked so; --protocol model alone does/)
  t.match(await reported('model', { modes: true, k: true }), /No setting here is asked so; --protocol model without --modes and --k does/)
})

t.test('with a chat template the report counts no demonstrations of the service', async (t) => {
  const { services } = factServices()
  const manifest = { ...services.reader.manifest, qa_defaults: { ...services.reader.manifest.qa_defaults, demonstrations: 1 } }
  const file = await files(t, { 'ctxs.jsonl': [fact(1, 6)] })
  const reported = async (chatTemplate: 'none' | 'inst', folder = file(chatTemplate)) => {
    const answering = { ...services, reader: { ...services.reader, manifest }, chatTemplate }
    const client = servicesClient({ answering, close: () => Promise.resolve() })
    const raw = { ...RAW, dataset: file('ctxs.jsonl'), protocol: 'model', shots: 'service' }
    const options = followModel(await chooseRetrieval(parseOptions(raw)), await client.defaults(), { modes: false, k: false })
    await askQuestions({ client, folder, concurrency: 1, options })
    return toMarkdown(buildReport([await readRun(folder)], { source: '', scores: [] }).blocks)
  }
  const plain = await reported('none')
  t.match(plain, /mode cepe with k = 6: 1 demonstrations, 2 passages in the decoder, .* That is the setting cepe, k = 6 here/)
  t.match(plain, /\| demonstrations +\| the service's own: 1 /)
  const chat = await reported('inst')
  t.match(chat, /mode cepe with k = 6 and chat template inst: 0 demonstrations, .* That is the setting cepe, k = 6 here/)
  t.match(chat, /\| demonstrations +\| the service's own: 0 /)
  const mismatch = { code: 'run_mismatch', message: /another chat_template \(none; now "inst"\)/ }
  await t.rejects(reported('inst', file('none')), mismatch, 'answers of two templates are not mixed')
})

t.test('F1 of yes and no is all or nothing', (t) => {
  t.equal(f1('no', 'no one'), 0)
  t.equal(f1('yes indeed', 'yes'), 0)
  t.equal(f1('Yes.', 'yes'), 1)
  t.equal(f1('noanswer', 'noanswer'), 1)
  t.end()
})
