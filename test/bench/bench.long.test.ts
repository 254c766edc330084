import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { builtForTests, finished, startNode } from '../helpers/processes.ts'
import { SKIPS } from '../helpers/skips.ts'
import { root } from '../helpers/root.ts'

const CUDA_PROVIDER = path.join(
  root,
  `node_modules/onnxruntime-node/bin/napi-v6/${process.platform}/${process.arch}/libonnxruntime_providers_cuda.so`,
)

/** About attributes, which the shipped reader reads well. */
const QUESTIONS = [
  ['what is the capital of australia', 'Canberra'],
  ['What is the capital of Cambodia?', 'Phnom Penh'],
  ['Which composer wrote the opera Aida?', 'Giuseppe Verdi'],
  ['what language do they speak in brazil', 'Portuguese'],
] as const

async function folderOf(t: Test): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'cepe-bench-test-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Runs a compiled benchmark to its end. */
function run(name: string, ...args: string[]) {
  return finished(startNode(builtForTests(`bench/reader/${name}`), args, { env: { CEPE_THREADS: '1' } }))
}

/** The proof for a CUDA machine, on the CPU. */
function proof(...args: string[]) {
  return run('proof-gpu.js', '--provider', 'cpu', ...args)
}

await t.test('a whole shape: sharded checkpoint, builds, answers by stage, nothing left', async (t) => {
  const folder = await folderOf(t)
  const options = ['--parts', 'shape', '--shape', 'small', '--k', '6', '--k-decoder', '0,2', '--folder', folder]
  const { code, stdout, stderr } = await proof(...options, '--dtype', 'int4,f32')
  t.equal(code, 0, stderr)
  t.match(
    stdout,
    /## shape, int4\n\nRandom .* Built in .*\nLimit: .*\nReady in .*GiB resident then\.\n[^]*\n\| 6 \| 0 \| 12 \| \d+ \| \d+ \|.*\n\| 6 \| 2 \|[^]*## shape, f32\n/,
  )
  t.same(await readdir(folder), [])
  t.match(await proof(...options, '--dtype', 'int3'), { code: 1, stderr: /--dtype takes f32, int8.*, not "int3"/ })
  t.match(await proof('--parts', 'shapes', '--folder', folder), {
    code: 1,
    stderr: /--parts takes goldens, zero-keys, tiny, reader, shape/,
  })
  t.match(await proof('--shape', '70b', '--folder', folder), {
    code: 1,
    stderr: /--shape takes 7b, 1.1b, 1.1b-shallow, small/,
  })
  t.same(await readdir(folder), [])
})

await t.test('outputs in half precision and in 4 bits, with keys and without, are those of the CPU', async (t) => {
  const folder = await folderOf(t)
  const { code, stdout, stderr } = await proof('--parts', 'goldens,zero-keys', '--dtype', 'f16,f16-int4', '--folder', folder)
  t.equal(code, 0, `${stdout}${stderr}`)
  t.match(
    stdout,
    /## zero-keys, f16\n[^]*\| prompt of 1 \| 0 \|[^]*\| prompt of 64 \| 0 \|[^]*\| prompt of 128 \| 0 \|[^]*\| prompt of 256 \| 1 \|/,
  )
  t.match(stdout, /## goldens, f16-int4\n[^]*All within 0\.2\./)
})

await t.test('parts are kept as they come: done ones are not run again, asked otherwise or failed they are', async (t) => {
  const keep = path.join(await folderOf(t), 'kept')
  const parts = ['--parts', 'goldens,tiny', '--keep', keep, '--corpus', path.join(keep, 'nowhere.tsv')]
  const first = await proof(...parts)
  t.match(first, { code: 1, stdout: /All within 0\.0002\.[^]*## tiny, f32\n\n.*nowhere\.tsv/, stderr: /not as it should be/ })
  const results = (await readdir(keep)).filter((name) => name.endsWith('.md'))
  t.same(results.sort(), ['goldens-cpu-f32.md', 'tiny-cpu-f32.failed.md'])
  const again = await proof('--parts', 'goldens', '--keep', keep)
  t.match(again, { code: 0, stdout: /All within 0\.0002\.\n\n\(Kept from an earlier run\.\)/ })
  const shape = ['--parts', 'shape', '--shape', 'small', '--k-decoder', '0', '--keep', keep]
  t.match(await proof(...shape, '--k', '1'), { code: 0, stdout: /Built in[^]*\| 1 \| 0 \|/ })
  const other = await proof(...shape, '--k', '2')
  t.match(other, { code: 0, stdout: /Built before[^]*\| 2 \| 0 \|/ })
  t.notMatch(other.stdout, 'Kept')
})

await t.test('the proof for a CUDA machine takes its whole way on the CPU', async (t) => {
  const folder = await folderOf(t)
  const work = await folderOf(t)
  const lines = (await readFile(path.join(root, 'index/corpus/passages.tsv'), 'utf8')).split('\n')
  const about = ['Australia', 'Cambodia', 'Giuseppe Verdi', 'Brazil']
  const corpus = path.join(work, 'corpus.tsv')
  await writeFile(corpus, lines.filter((line, i) => i === 0 || about.includes(line.split('\t').at(2)?.trim() ?? '')).join('\n'))
  const questions = path.join(work, 'questions.jsonl')
  await writeFile(questions, QUESTIONS.map(([question, answer]) => JSON.stringify({ question, answer: [answer] })).join('\n'))
  const sizes = ['--shape', 'small', '--k', '6', '--k-decoder', '0', '--corpus', corpus, '--question-file', questions]
  const { code, stdout, stderr } = await proof('--parts', 'goldens,zero-keys,tiny,shape', ...sizes, '--folder', folder)
  t.equal(code, 0, stderr)
  t.match(
    stdout,
    /golden-k20\.safetensors \| 20 \| the same \|[^]*All within 0\.0002\.[^]*Exact match 1\.000 of 4 questions[^]*\n\| 6 \| 0 \|/,
  )
  t.same(await readdir(folder), [])
})

await t.test('and refuses without CUDA, before it writes anything', { skip: existsSync(CUDA_PROVIDER) && SKIPS.withoutCuda }, async (t) => {
  const folder = await folderOf(t)
  t.match(await run('proof-gpu.js', '--folder', folder), {
    code: 1,
    stdout: '',
    stderr: /^CUDA device 0 cannot be used: .* `cepe doctor` lists what CUDA needs/,
  })
  t.match(await run('proof-gpu.js', '--provider', 'tpu', '--folder', folder), { code: 1, stderr: /--provider takes cuda, cpu/ })
  t.same(await readdir(folder), [])
})
