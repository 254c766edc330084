/**
 * What a reader's generate graph holds of the memory of a large request, with ONNX Runtime's arena and without, and what that
 * costs in processor time. Each way runs in a process of its own. Usage: arena.js <built reader> [prompt tokens] [context rows]
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadCepeManifest } from '../../../models/folder.ts'
import { int64, float32, loadGraph, type Feeds } from '../../../src/inference/worker/runtime/session.ts'
import { uniform } from '../../../test/fixtures/synthetic-checkpoint.ts'
import { table } from '../measure.ts'

const NEW_TOKENS = 10
const LARGE_RUNS = 3
const SMALL_RUNS = 10

const [modelDir = 'models/built/cepe-f32', prompt = '512', rows = '6000', way] = process.argv.slice(2)

/** Megabytes of a figure of /proc. */
function memory(name: 'VmRSS' | 'VmHWM'): number {
  return Math.round(Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 1024)
}

async function measure(arena: boolean): Promise<void> {
  const { graphs, dims } = await loadCepeManifest(modelDir)
  const graph = await loadGraph(path.join(modelDir, graphs.generate), { threads: 1, provider: { name: 'cpu' }, arena })
  const loaded = memory('VmRSS')
  const next = uniform(1)
  const feeds = (tokens: number, context: number): Feeds => ({
    input_ids: int64(
      Array.from({ length: tokens }, (_, i) => 3 + (i % 1000)),
      [1, tokens],
    ),
    phi: float32(
      Float32Array.from({ length: context * dims.encoder_hidden_size }, () => next() - 0.5),
      [context, dims.encoder_hidden_size],
    ),
    stop_ids: int64([], [0]),
    max_new_tokens: int64([NEW_TOKENS], []),
  })
  const least = async (times: number, request: (run: number) => Feeds): Promise<number> => {
    let best = Infinity
    for (let run = 0; run < times; run++) {
      const given = request(run)
      const before = process.cpuUsage()
      await graph.run(given)
      const { user, system } = process.cpuUsage(before)
      best = Math.min(best, (user + system) / 1000)
    }
    return best
  }
  // Every request has its own sizes, as in a service.
  const large = await least(LARGE_RUNS, (run) => feeds(Number(prompt) - run, Number(rows) + run))
  const afterLarge = memory('VmRSS')
  const small = await least(SMALL_RUNS, (run) => feeds(20 + run, 400 + run))
  const figures = [loaded, memory('VmHWM'), afterLarge, memory('VmRSS'), Math.round(large), Math.round(small)]
  console.log(JSON.stringify([arena ? 'arena' : 'without', ...figures.map(String)]))
}

if (way === undefined) {
  const lines = ['arena', 'without'].map((each): string[] => {
    const { stdout, status } = spawnSync(process.execPath, ['--expose-gc', fileURLToPath(import.meta.url), modelDir, prompt, rows, each], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    if (status !== 0) throw new Error(`the run "${each}" failed`)
    return JSON.parse(stdout) as string[]
  })
  console.log(
    `Prompts of ${prompt} tokens over ${rows} context rows, then short ones, ${NEW_TOKENS} new tokens; MB and ms of processor time\n`,
  )
  console.log(table(['', 'loaded', 'peak', 'after large', 'after small', 'large, ms', 'small, ms'], lines))
} else await measure(way === 'arena')
