import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t, { type Test } from 'tap'
import { f16ToF32, f32ToF16 } from '../../../../base/binary16.ts'
import { encodeAhead, encodeContexts, type ContextEncoder } from '../../../../src/inference/worker/encoder/encode-contexts.ts'
import { loadCepeManifest } from '../../../../models/folder.ts'
import type { StateDtype } from '../../../../src/inference/protocol.ts'
import { floats, loadGraph, type Feeds } from '../../../../src/inference/worker/runtime/session.ts'
import { createStateCache, createStateCodec } from '../../../../src/inference/worker/encoder/state-cache.ts'
import { createStateStore } from '../../../../src/inference/worker/encoder/state-store.ts'
import { loadTokenizer } from '../../../../src/text/tokenizer.ts'
import { builtFixture, wordsOf } from '../../../fixtures/built-fixture.ts'

const go = (): Promise<void> => Promise.resolve()
const contexts = [4, 8, 3].map((length, start) => wordsOf(Array.from({ length }, (_, i) => 3 + ((start + i * 5) % 40))))
const input = { contexts, contextTokens: 8 }

/** A reader's encoder over states in a folder, and how often it ran. */
async function encoderOver(t: Test) {
  const modelDir = await builtFixture(t, 'cepe-tiny-gqa')
  const manifest = await loadCepeManifest(modelDir)
  const graph = await loadGraph(`${modelDir}/cepe_encoder.onnx`, { threads: 1, provider: { name: 'cpu' } })
  t.teardown(() => graph.release())
  const tokenizer = await loadTokenizer(modelDir, { bos_id: 1, eos_ids: [2] })
  const dir = path.join(t.testdirName, 'states')
  let runs = 0
  const logged: string[] = []
  const open = async (
    options: Partial<Parameters<typeof createStateStore>[0]> = {},
    cacheBytes = 0,
  ): Promise<ContextEncoder & { settled(): Promise<void> }> => {
    const dtype: StateDtype = options.dtype ?? 'f16'
    const log = (_: string, message: string): void => void logged.push(message)
    const store = await createStateStore({ dir, manifest, dtype, maxBytes: 2 ** 20, log, ...options })
    return {
      graph: { ...graph, run: (feeds: Feeds) => (runs++, graph.run(feeds)) },
      ...{ tokenizer, manifest: options.manifest ?? manifest, batchTokens: 64 },
      ...{ cache: createStateCache(cacheBytes), codec: await createStateCodec(dtype), store },
      settled: () => store.settled(),
    }
  }
  const phiOf = async (encoder: ContextEncoder): Promise<Float32Array> => floats({ phi: (await encodeContexts(encoder, input)).phi }, 'phi')
  const ranFor = async (work: () => Promise<unknown>): Promise<number> => {
    const before = runs
    await work()
    return runs - before
  }
  const filesOf = async (dtype: StateDtype = 'f16'): Promise<string[]> => {
    const names = await readdir(dir, { recursive: true })
    return names.filter((name) => name.includes(`-${dtype}${path.sep}`) && name.endsWith('.states')).map((name) => path.join(dir, name))
  }
  return { open, phiOf, ranFor, filesOf, dir, manifest, logged }
}

await t.test('states are the same fresh, from memory and from the disk: those of the encoder, rounded to half precision', async (t) => {
  const { open, phiOf, ranFor } = await encoderOver(t)
  const exact = await phiOf(await open({ dtype: 'f32' }))
  const first = await open({}, 2 ** 20)
  const fresh = await phiOf(first)
  t.same(fresh, f16ToF32(f32ToF16(exact)), 'every number is the nearest half')
  t.equal(await ranFor(async () => t.same(await phiOf(first), fresh)), 0, 'in memory')
  await first.settled()
  const second = await open()
  t.equal(await ranFor(async () => t.same(await phiOf(second), fresh)), 0, 'on the disk, for another process of the reader')
  const whole = await open({ dtype: 'f32' })
  t.equal(await ranFor(async () => t.same(await phiOf(whole), exact)), 0, 'f32 states have their own folder, and are exact')
})

await t.test('numbers beyond half precision are kept as they are, in memory alone', async (t) => {
  const codec = await createStateCodec('f16')
  const packed = await codec.pack(Float32Array.of(1, 2, 70_000, 4), [2, 2])
  t.same(packed, [f32ToF16(Float32Array.of(1, 2)), Float32Array.of(70_000, 4)])
  t.same(await codec.unpack(packed), Float32Array.of(1, 2, 70_000, 4))
  t.same(await codec.unpack([]), new Float32Array(0))
  const { open, filesOf } = await encoderOver(t)
  const { store } = await open()
  t.equal(await store?.write(Buffer.alloc(32).toString('base64'), Float32Array.of(70_000)), 0)
  t.same(await filesOf().catch(() => []), [])
})

await t.test('damaged and strange files are computed anew; states of another reader are never read', async (t) => {
  const { open, phiOf, ranFor, filesOf, manifest } = await encoderOver(t)
  const encoder = await open()
  const fresh = await phiOf(encoder)
  await encoder.settled()
  const [cut = '', flipped = '', swapped = ''] = await filesOf()
  const whole = await readFile(cut)
  await writeFile(cut, whole.subarray(0, -2))
  const bytes = await readFile(flipped)
  bytes[40] = (bytes[40] ?? 0) ^ 1
  await writeFile(flipped, bytes)
  await writeFile(swapped, '')
  const mended = await open()
  t.equal(await ranFor(async () => t.same(await phiOf(mended), fresh)), 1)
  await mended.settled()
  const after = await open()
  t.equal(await ranFor(() => phiOf(after)), 0, 'and stored anew')
  t.same(await readFile(cut), whole)

  const [file] = manifest.files
  const other = { ...manifest, files: [{ name: 'weights.bin', bytes: 1, sha256: '0'.repeat(64) }, ...(file ? [file] : [])] }
  const stranger = await open({ manifest: other })
  t.equal(await ranFor(() => phiOf(stranger)), 1)
  await stranger.settled()
})

await t.test('within the limit: what was not used for longest goes, other files in the folder stay', async (t) => {
  const { open, phiOf, filesOf, dir } = await encoderOver(t)
  const encoder = await open()
  await phiOf(encoder)
  await encoder.settled()
  const files = await filesOf()
  const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size))
  const [oldest = '', used = '', newest = ''] = files
  const day = 86_400
  const now = Date.now() / 1000
  await utimes(oldest, now - 2 * day, now - 2 * day)
  await utimes(used, now - 3 * day, now - 3 * day)
  await utimes(newest, now - day, now - day)
  const note = path.join(dir, 'notes', '00', 'mine.states')
  await mkdir(path.dirname(note), { recursive: true })
  await writeFile(note, 'x'.repeat(10_000))
  await phiOf(encoder)
  t.ok((await stat(used)).mtimeMs / 1000 > now - 60, 'a read counts as a use')
  await utimes(oldest, now - 2 * day, now - 2 * day)
  await open({ maxBytes: sizes.reduce((sum, size) => sum + size, 0) - 1 })
  t.same((await filesOf()).sort(), [used, newest].sort())
  t.ok(await stat(note))
})

await t.test('half-written files of a killed process are swept, those of a living one are left', async (t) => {
  const { open, dir } = await encoderOver(t)
  await open()
  const child = spawn(process.execPath, ['-e', 'setTimeout(() => 0, 60000)'])
  const { processTag } = await import('../../../../base/process-tag.ts')
  const [place = ''] = (await processTag()).split('-')
  const started = (await readFile(`/proc/${child.pid}/stat`, 'utf8').catch(() => '')).split(') ').at(-1)?.split(' ').at(19) ?? ''
  const aside = path.join(dir, 'aside', `${place}-${child.pid}-${started}.part`)
  await writeFile(aside, 'half')
  await open()
  t.ok(await stat(aside), 'its writer lives')
  child.kill('SIGKILL')
  await once(child, 'exit')
  await open()
  await t.rejects(stat(aside), { code: 'ENOENT' })
})

await t.test('ahead of questions: stored once, read by the question; the room is told', async (t) => {
  const { open, phiOf, ranFor, filesOf } = await encoderOver(t)
  const encoder = await open()
  const { stored, bytes, room } = await encodeAhead(encoder, input, go)
  const sizes = await Promise.all((await filesOf()).map(async (file) => (await stat(file)).size))
  t.same(
    { stored, bytes, room },
    { stored: 3, bytes: sizes.reduce((sum, size) => sum + size, 0), room: 2 ** 20 - sizes.reduce((sum, size) => sum + size, 0) },
  )
  t.match(await encodeAhead(encoder, input, go), { stored: 0, bytes: 0 }, 'again: nothing to do')
  const asked = await open()
  t.equal(await ranFor(() => phiOf(asked)), 0)
  await t.rejects(encodeAhead({ ...encoder, store: null }, input, go), { code: 'config_invalid', message: /CEPE_STATE_DISK_MB/ })
})

await t.test('a disk that takes nothing is warned of, and the question is answered', async (t) => {
  const { open, phiOf, dir, logged } = await encoderOver(t)
  const encoder = await open()
  // Nobody, not even root, makes a file in a folder that is none.
  await rm(path.join(dir, 'aside'), { recursive: true })
  await writeFile(path.join(dir, 'aside'), '')
  t.ok((await phiOf(encoder)).length > 0)
  await encoder.settled()
  t.match(logged, [/not kept on the disk for a minute/])
  await phiOf(encoder)
  await encoder.settled()
  t.equal(logged.length, 1, 'said once')
})
