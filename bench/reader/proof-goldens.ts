import { cp, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { readGolden, type Golden } from '../../models/golden.ts'
import type { Dtype } from '../../models/manifest.ts'
import { packageRoot } from '../../src/package.ts'
import { createReader } from '../../src/inference/pool/models/create-reader.ts'
import type { Provider } from '../../src/inference/protocol.ts'
import { buildWithWords } from '../../test/fixtures/built-fixture.ts'
import { table } from '../measure.ts'

/** A committed checkpoint of random weights with outputs of the reference implementation. */
const FIXTURE = 'test/fixtures/reference/cepe-tiny'

function ids(golden: Golden, name: string): number[] {
  return Array.from(golden.ints(name).data, Number)
}

/** The contexts of a golden file, without padding. */
function contextsOf(golden: Golden): number[][] {
  if (!golden.has('encoder_input_ids')) return []
  const { data, shape } = golden.ints('encoder_input_ids')
  const mask = golden.ints('encoder_attention_mask').data
  const [rows = 0, length = 0] = shape
  return Array.from({ length: rows }, (_, row) =>
    Array.from(data.subarray(row * length, (row + 1) * length), Number).filter((_, i) => mask[row * length + i] === 1n),
  )
}

/**
 * Compares greedy answers of a reader process with recorded ones.
 * @returns the lines of a table, and whether every difference is within `atol`
 */
export async function goldenLines(
  folder: string,
  dtype: Dtype,
  provider: Provider,
  atol: number,
): Promise<{ lines: string[]; ok: boolean }> {
  const fixture = join(packageRoot(), FIXTURE)
  const checkpointDir = join(folder, 'golden-checkpoint')
  await cp(fixture, checkpointDir, { recursive: true })
  const modelDir = await buildWithWords(checkpointDir, join(folder, 'golden'), dtype)
  const reader = await createReader({ modelDir, provider })
  try {
    const rows: string[][] = []
    let ok = true
    for (const file of (await readdir(fixture)).filter((name) => /^golden-(?!replug)/.test(name))) {
      const golden = await readGolden(join(fixture, file))
      const contextIds = contextsOf(golden)
      const request = {
        contexts: [],
        contextIds,
        contextTokens: 256,
        promptIds: ids(golden, 'input_ids'),
        stopIds: ids(golden, 'stop_ids'),
      }
      const [maxNewTokens = 0] = ids(golden, 'max_new_tokens')
      const { tokenIds, logprobs } = await reader.generate({ ...request, maxNewTokens })
      const expected = golden.floats('generated_logprobs').data
      const same = tokenIds.join() === ids(golden, 'generated_ids').join()
      const largest = Math.max(...logprobs.map((value, i) => Math.abs(value - (expected[i] ?? NaN))))
      ok &&= same && largest <= atol
      rows.push([file, String(contextIds.length), same ? 'the same' : 'others', largest.toExponential(1)])
    }
    const lines = table(['golden', 'contexts', `greedy tokens, ${dtype}`, 'largest difference of a log-probability'], rows)
    return { lines: [lines, '', ok ? `All within ${atol}.` : `NOT all within ${atol}.`], ok }
  } finally {
    await reader.close({ drainMs: 0 })
  }
}
