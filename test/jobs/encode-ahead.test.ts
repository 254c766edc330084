import t from 'tap'
import { at } from '../../base/at.ts'
import { CodedError } from '../../base/errors.ts'
import type { Passage } from '../../index/contract.ts'
import type { AheadEncoder, EncoderInput } from '../../src/inference/contract.ts'
import { encodeIndexAhead, startAheadFollower, type AheadProgress } from '../../src/inference/encode-ahead.ts'
import { readerManifest } from '../helpers/recording-services.ts'

const PASSAGE_BYTES = 1000

function tableOf(count: number) {
  const passages = Array.from({ length: count }, (_, i): Passage => ({ id: String(i), title: `Title ${i}`, text: `text ${i}` }))
  return {
    passages,
    count: () => Promise.resolve(passages.length),
    export: async function* () {
      for (const passage of passages) yield await Promise.resolve(passage)
    },
    refresh: () => Promise.resolve(),
  }
}

/** Keeps what it is given within a limit; fails when it is told to. */
function recorder(limit: number) {
  const kept = new Map<string, EncoderInput>()
  const failures: CodedError[] = []
  const reader: AheadEncoder = {
    manifest: readerManifest(1000),
    encodeAhead: (input) => {
      const failure = failures.shift()
      if (failure) return Promise.reject(failure)
      const fresh = input.contexts.filter((context) => !kept.has(context))
      for (const context of fresh) kept.set(context, input)
      const bytes = fresh.length * PASSAGE_BYTES
      return Promise.resolve({ stored: fresh.length, bytes, room: limit - kept.size * PASSAGE_BYTES })
    },
  }
  return { kept, failures, reader }
}

await t.test('every passage, as questions render it; again: nothing; after a change: what is new', async (t) => {
  const { kept, failures, reader } = recorder(1e9)
  const table = tableOf(203)
  failures.push(new CodedError('inference_failed', 'The process died.'))
  const seen: AheadProgress[] = []
  const first = await encodeIndexAhead({ index: table, reader, onProgress: (progress) => void seen.push(progress) })
  t.match(first, { done: 203, total: 203, stored: 203, bytes: 203_000 })
  t.equal([...kept.keys()].at(0), 'Document (Title: Title 0): text 0')
  t.equal([...kept.values()].at(0)?.contextTokens, reader.manifest.qa_defaults.context_tokens)
  t.same(
    seen.slice(0, 9).map(({ done, left }) => [done, left]),
    [...[8, 16, 24, 32, 40, 48, 56].map((done) => [done, undefined]), [64, 139_000], [72, 131_000]],
    'a forecast from the first 64 on',
  )
  t.match(await encodeIndexAhead({ index: table, reader }), { done: 203, stored: 0, bytes: 0 })
  table.passages.push({ id: 'new', title: 'T', text: 'x' })
  t.match(await encodeIndexAhead({ index: table, reader }), { done: 204, stored: 1 })
})

await t.test('what will not fit is said after the first passages, not when the disk is full', async (t) => {
  const { kept, reader } = recorder(150_000)
  await t.rejects(encodeIndexAhead({ index: tableOf(1000), reader }), {
    code: 'disk_full',
    field: 'CEPE_STATE_DISK_MB',
    message: /states of the 936 passages that are left take about 936 kB, and there is room for 86 kB: raise CEPE_STATE_DISK_MB/,
  })
  t.equal(kept.size, 64)
})

await t.test('an abort ends it between two batches; another fault is not tried again', async (t) => {
  const { kept, failures, reader } = recorder(1e9)
  const stop = new AbortController()
  await t.rejects(
    encodeIndexAhead({ index: tableOf(100), reader, onProgress: () => stop.abort(new Error('enough')), signal: stop.signal }),
    {
      message: 'enough',
    },
  )
  t.equal(kept.size, 8)
  failures.push(new CodedError('disk_full', 'The disk is full.'))
  await t.rejects(encodeIndexAhead({ index: tableOf(10), reader }), { code: 'disk_full' })
})

await t.test('a service follows its table: changes that come meanwhile are seen by another look', async (t) => {
  const { kept, failures, reader } = recorder(1e9)
  const logged: string[] = []
  const table = tableOf(20)
  const follower = startAheadFollower({ index: table, reader, log: (level, message) => void logged.push(`${level} ${message}`) })
  follower.follow()
  table.passages.push({ id: 'new', title: 'T', text: 'x' })
  follower.follow()
  while (logged.length < 1) await new Promise((resolve) => setImmediate(resolve))
  t.equal(kept.size, 21)
  failures.push(new CodedError('unsupported', 'No.'))
  follower.follow()
  while (!logged.some((line) => line.startsWith('warn'))) await new Promise((resolve) => setImmediate(resolve))
  t.match(at(logged, logged.length - 1), 'warn Encoder states are not stored ahead: No.')
  await follower.close()
})
