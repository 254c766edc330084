/** Prompts that begin as an earlier one are read from there on: the same answers, whatever is in the cache. */
import { join } from 'node:path'
import t from 'tap'
import { buildModel } from '../../../../models/build.ts'
import { createReader } from '../../../../src/inference/pool/models/create-reader.ts'
import { root } from '../../../helpers/root.ts'
import { randomIds, temporaryFolder } from '../../../models/helpers.ts'
import { largestDifference } from '../../pool/golden-requests.ts'

const TINY = 'models/tiny/checkpoint/cepe'
const CASES = [
  ...(['f32', 'int8', 'int8-blocks', 'int4', 'f16'] as const).map((dtype) => ({ from: TINY, dtype })),
  // Biases; norms of queries and keys, and local layers.
  ...['qwen2', 'gemma3'].map((family) => ({ from: `test/fixtures/decoders/${family}`, dtype: 'f32' as const })),
]
const asking = { contexts: [], contextTokens: 1, stopIds: [], maxNewTokens: 6 }
const [passage, other] = [randomIds(53, 1), randomIds(53, 2)]
const prompts = [[...passage, ...randomIds(7, 3)], [...other, ...randomIds(9, 4)], [...passage, ...randomIds(12, 5)], passage.slice(0, 33)]

for (const { from, dtype } of CASES)
  await t.test(`${from}, ${dtype}`, async (t) => {
    const modelDir = join(temporaryFolder(t), 'built')
    await buildModel({ checkpointDir: join(root, from), outDir: modelDir, dtype })
    const [cached, plain] = [await createReader({ modelDir }), await createReader({ modelDir, promptCacheBytes: 0 })]
    t.teardown(() => Promise.all([cached.close({ drainMs: 0 }), plain.close({ drainMs: 0 })]))
    const lookups: number[][] = []
    for (const promptIds of prompts) {
      const [found, read] = [await cached.generate({ ...asking, promptIds }), await plain.generate({ ...asking, promptIds })]
      t.same(found.tokenIds, read.tokenIds)
      const difference = largestDifference(found.logprobs, read.logprobs)
      t.ok(difference < 1e-5, `log-probabilities differ by ${difference}`)
      const scored = await Promise.all([cached, plain].map((one) => one.score({ ...asking, promptIds, continuations: [read.tokenIds] })))
      const apart = largestDifference(scored[0]?.[0] ?? [], scored[1]?.[0] ?? [Number.NaN])
      t.ok(apart < (dtype === 'f32' ? 1e-4 : 0.2), `scores of the step graph, which differ by ${apart}`)
      const { hits = 0, misses = 0 } = cached.status().children[0]?.cache ?? {}
      lookups.push([hits, misses])
    }
    // Each is read, and again to score: 48 tokens of 60, of 62 and of 65, whose first 53 are known, and 16 of 33, whose first 33 are.
    const [none, all] = [
      [0, 0],
      [
        [1, 1],
        [2, 2],
        [4, 2],
        [6, 2],
      ],
    ]
    if (dtype === 'f16') t.same(lookups.at(-1), none, 'for GPUs, which read a prompt faster than they get it')
    else t.same(lookups, all)
  })
