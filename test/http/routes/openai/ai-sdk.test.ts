import { execFile } from 'node:child_process'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { recordingServices } from '../../../helpers/recording-services.ts'
import { SKIPS } from '../../../helpers/skips.ts'
import { testApp } from '../../helpers.ts'

/** Folder with `node_modules` of ai, @ai-sdk/openai and @ai-sdk/openai-compatible. */
const installed = process.env['TEST_AI_SDK'] ?? ''

const PROGRAM = `
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, streamText } from 'ai'
const options = { baseURL: process.argv[2], apiKey: 'unused' }
const openai = createOpenAI(options)
const models = { chat: openai.chat('cepe'), responses: openai.responses('cepe'), compatible: createOpenAICompatible({ name: 'cepe', ...options }).chatModel('cepe') }
const seen = {}
for (const [name, model] of Object.entries(models)) {
  const asked = { model, prompt: 'what is it', maxRetries: 0 }
  const whole = await generateText(asked)
  const streamed = streamText(asked)
  const told = (sources) => sources.map(({ url, title }) => ({ url, title }))
  seen[name] = { text: whole.text, sources: told(whole.sources), streamText: await streamed.text, streamSources: told(await streamed.sources) }
}
console.log(JSON.stringify(seen))
`

t.test('the AI SDK keeps the citations', { skip: installed === '' ? SKIPS.aiSdk : false }, async (t) => {
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-ai-sdk-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  await symlink(path.resolve(installed, 'node_modules'), path.join(dir, 'node_modules'))
  await writeFile(path.join(dir, 'program.mjs'), PROGRAM)
  const base = recordingServices().services
  const hit = { id: 'p0', title: 'T0', text: 'The answer is yes.', source: 'https://example.org/t0', score: 1, rank: 1 }
  const index = { view: async () => ({ ...(await base.retriever.index.view()), search: () => Promise.resolve([hit]) }) }
  const { app } = await testApp(t, { answering: { ...base, retriever: { ...base.retriever, index } } })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const { stdout } = await promisify(execFile)(process.execPath, [path.join(dir, 'program.mjs'), `${url}/v1`], { cwd: dir })
  const sources = [{ url: 'https://example.org/t0', title: 'T0' }]
  const whole = { text: 'yes', sources, streamText: 'yes', streamSources: sources }
  t.same(JSON.parse(stdout), {
    chat: whole,
    responses: whole,
    // Its provider for other services reads no annotations: docs/clients.md says what to do.
    compatible: { ...whole, sources: [], streamSources: [] },
  })
})
