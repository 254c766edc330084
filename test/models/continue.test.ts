import { join } from 'node:path'
import { Tensor } from '../../models/runtime.ts'
import t from 'tap'
import { writeSyntheticCheckpoint } from '../fixtures/synthetic-checkpoint.ts'
import { build, CEPE, floats, int64, LLAMA, numbers, randomIds, randomPhi, temporaryFolder, type Run } from './helpers.ts'

interface Made {
  readonly tokens: number[]
  readonly logprobs: number[]
  readonly attention: number[]
}

function madeBy(out: Awaited<ReturnType<Run>>): Made {
  return { tokens: numbers(out['tokens']), logprobs: [...floats(out['logprobs'])], attention: [...floats(out['attention'])] }
}

/** Outputs named `from.{layer}.{part}` as inputs of another name. */
function caches(out: Awaited<ReturnType<Run>>, from: string, to: string): Record<string, Tensor> {
  return Object.fromEntries(
    Object.entries(out).flatMap(([name, tensor]) => (name.startsWith(`${from}.`) ? [[name.replace(from, to), tensor]] : [])),
  )
}

interface Asked {
  readonly prompt: readonly number[]
  readonly phi: Tensor
  readonly stops: readonly number[]
  readonly most: number
}

/** The first token by the generate graph, the others in pieces. */
async function inPieces(
  { generate, goOn }: { readonly generate: Run; readonly goOn: Run },
  { prompt, phi, stops, most }: Asked,
  { piece, window }: { readonly piece: number; readonly window: number },
): Promise<Made> {
  const stop_ids = int64(stops)
  const out = await generate({ input_ids: int64(prompt, [1, prompt.length]), phi, stop_ids, max_new_tokens: int64([1], []) })
  const made = madeBy(out)
  const promptCaches = caches(out, 'prompt', 'prompt')
  const [cache] = Object.values(promptCaches)
  const [, heads = 0, , width = 0] = cache?.dims ?? []
  let since: Record<string, Tensor> = Object.fromEntries(
    Object.keys(promptCaches).map((name) => [name.replace('prompt', 'since'), new Tensor('float32', [], [1, heads, 0, width])]),
  )
  for (;;) {
    const token = made.tokens.at(-1) ?? -1
    const position = prompt.length + made.tokens.length - 1
    if (stops.includes(token) || made.tokens.length >= most || position >= window) return made
    const next = await goOn({
      token: int64([token], [1, 1]),
      position: int64([position], [1, 1]),
      phi,
      stop_ids,
      max_new_tokens: int64([Math.min(piece, most - made.tokens.length)], []),
      ...promptCaches,
      ...since,
    })
    for (const name of ['tokens', 'logprobs', 'attention'] as const) made[name].push(...madeBy(next)[name])
    since = caches(next, 'made', 'since')
  }
}

const folder = temporaryFolder(t)
for (const [dtype, config, phiWidth] of [
  ['f32', CEPE, 32],
  ['int8', CEPE, 32],
  ['int8+int4', CEPE, 32],
  ['int4', CEPE, 32],
  ['f32', LLAMA, 1],
] as const) {
  const name = `${dtype} ${config.architectures[0] ?? ''}`
  await t.test(`an answer in pieces is the answer in one run, to the bit: ${name}`, async (t) => {
    const checkpointDir = await writeSyntheticCheckpoint(join(folder, name), config, { seed: 5, deviation: 0.3 })
    const { graph } = await build(t, {
      checkpointDir,
      dtype,
      int4: { blockSize: 32, lmHead: 'float' },
      outDir: join(folder, `${name}-built`),
    })
    const [generate, goOn] = [await graph('cepe_generate'), await graph('cepe_continue')]
    for (const [length, rows, most] of [
      [12, 7, 9],
      [12, 0, 9],
      [1, 5, 6],
      [250, 3, 20],
    ] as const) {
      for (const piece of [1, 3]) {
        const prompt = randomIds(length, length + rows)
        const phi = randomPhi(rows, phiWidth, 9)
        const whole = { prompt, phi, stops: [], most }
        const made = madeBy(await generate({ ...feeds(whole), max_new_tokens: int64([most], []) }))
        t.same(
          await inPieces({ generate, goOn }, whole, { piece, window: 256 }),
          made,
          `${length} tokens, ${rows} rows, pieces of ${piece}`,
        )
        const stopped = { ...whole, stops: [made.tokens[3] ?? 0] }
        t.same(
          await inPieces({ generate, goOn }, stopped, { piece, window: 256 }),
          madeBy(await generate(feeds(stopped))),
          'with a stop id',
        )
      }
    }
  })
}

function feeds({ prompt, phi, stops, most }: Asked) {
  return { input_ids: int64(prompt, [1, prompt.length]), phi, stop_ids: int64(stops), max_new_tokens: int64([most], []) }
}
