/**
 * The CUDA provider has a kernel for every operator of every graph in the types of the f16 builds. test/fixtures/cuda/kernels.json holds what
 * the provider of this version has, recorded from its own registry; where the provider is installed, it is compared (or with --write recorded).
 */
import { execFile } from 'node:child_process'
import { cp, readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { buildModel } from '../../models/build.ts'
import type { Dtype } from '../../models/manifest.ts'
import { decodeModel } from '../../models/onnx/proto.ts'
import { runtimeVersion } from '../../src/inference/worker/runtime/session.ts'
import { fixtureDir } from '../fixtures/built-fixture.ts'
import { signatures } from '../helpers/node-types.ts'
import { pretendCuda, withoutPretendCuda } from '../helpers/pretend-cuda.ts'
import { builtForTests } from '../helpers/processes.ts'
import { root } from '../helpers/root.ts'

const TABLE = path.join(root, 'test/fixtures/cuda/kernels.json')
const DTYPES = ['f16', 'f16-int4', 'f32'] as const
const CHECKPOINTS = [
  ...['cepe-tiny', 'cepe-tiny-gqa', 'contriever-tiny'].map((name) => fixtureDir(name) ?? name),
  ...['decoders/qwen2', 'decoders/qwen3', 'decoders/gemma2', 'decoders/gemma3', 'rerankers/bert', 'sentence-transformers/modern-bert'].map(
    (name) => path.join(root, 'test/fixtures', name),
  ),
]

interface Table {
  /** Version of ONNX Runtime. */
  readonly runtime: string
  /** Whether the provider has a kernel for an operator with inputs of these types. */
  readonly kernels: Readonly<Record<string, boolean>>
  /** Nodes of f16 builds that ONNX Runtime leaves to the CPU although there is a kernel: they compute shapes. */
  readonly shapes: readonly string[]
}

interface BuiltGraph {
  readonly file: string
  /** Checkpoint, dtype and graph. */
  readonly name: string
  readonly dtype: Dtype
  /** Signature of each node by its name. */
  readonly nodes: ReadonlyMap<string, string>
}

async function builtGraphs(home: string): Promise<BuiltGraph[]> {
  const found: BuiltGraph[] = []
  for (const source of CHECKPOINTS) {
    const checkpointDir = path.join(home, path.basename(source))
    await cp(source, checkpointDir, { recursive: true })
    for (const dtype of DTYPES) {
      const outDir = `${checkpointDir}-${dtype}`
      await buildModel({ checkpointDir, outDir, dtype })
      for (const name of (await readdir(outDir)).filter((one) => one.endsWith('.onnx'))) {
        const file = path.join(outDir, name)
        const nodes = signatures(decodeModel(await readFile(file)))
        found.push({ file, name: `${path.basename(source)}, ${dtype}, ${name}`, dtype, nodes })
      }
    }
  }
  return found
}

/** What the provider does with a graph: names of nodes that it has no kernel for, and operators of those placed on the CPU by name. */
async function placed(file: string, libraries: string): Promise<{ without: Set<string>; onCpu: Map<string, string> }> {
  const options = { env: { ...process.env, LD_LIBRARY_PATH: libraries }, maxBuffer: 2 ** 30 }
  const { stderr } = await promisify(execFile)(process.execPath, [builtForTests('test/helpers/placement-process.js'), file], options)
  const without = [...stderr.matchAll(/CUDA kernel not found in registries for Op type: \S+ node name: (\S+)/g)].map(
    ([, name = '']) => name,
  )
  const [, cpu = ''] = /placed on \[CPUExecutionProvider\](.*?)(?:placed on \[|\[I:)/s.exec(stderr) ?? []
  return {
    without: new Set(without),
    onCpu: new Map([...cpu.matchAll(/\] {2,}(\w+) \((\S+)\)/g)].map(([, op = '', name = '']) => [name, op])),
  }
}

const home = t.testdir({})
const graphs = await builtGraphs(home)
const table = JSON.parse(await readFile(TABLE, 'utf8').catch(() => '{}')) as Table

await t.test('in f16 and f16-int4 every operator has a kernel; in f32 a reader lacks those of GroupQueryAttention', (t) => {
  t.equal(table.runtime, runtimeVersion(), 'recorded from this version: run this test with --write where its provider is installed')
  const lacking = new Set<string>()
  for (const { name, dtype, nodes } of graphs) {
    const unknown = [...nodes.values()].filter((signature) => table.kernels[signature] === undefined)
    t.same([...new Set(unknown)], [], `${name}: all operators are recorded`)
    const without = [...nodes.values()].filter((signature) => table.kernels[signature] === false)
    if (dtype === 'f32') for (const signature of without) lacking.add(signature.replace(/\(.*/, ''))
    else t.same(without, [], `${name}: nothing is left to the CPU for want of a kernel`)
  }
  t.same([...lacking], ['GroupQueryAttention'])
  t.same(
    table.shapes.filter((signature) => /f16|f32/.test(signature)),
    [],
    'what is on the CPU all the same computes shapes alone',
  )
  t.end()
})

await t.test('the provider itself places the graphs so', { skip: withoutPretendCuda() }, async (t) => {
  const libraries = await pretendCuda(path.join(home, 'libraries'))
  const kernels: Record<string, boolean> = {}
  const shapes = new Set<string>()
  for (const { file, name, dtype, nodes } of graphs) {
    const { without, onCpu } = await placed(file, libraries)
    const changed = [...nodes].filter(([node, signature]) => kernels[signature] === without.has(node))
    t.same(changed, [], `${name}: an operator's types decide`)
    for (const [node, signature] of nodes) kernels[signature] = !without.has(node)
    if (dtype !== 'f32') for (const [node, op] of onCpu) shapes.add(nodes.get(node) ?? op)
  }
  const recorded: Table = {
    runtime: runtimeVersion(),
    kernels: Object.fromEntries(Object.entries(kernels).sort(([a], [b]) => (a < b ? -1 : 1))),
    shapes: [...shapes].sort(),
  }
  if (process.argv.includes('--write')) await writeFile(TABLE, `${JSON.stringify(recorded, undefined, 2)}\n`)
  else t.same(recorded, table)
})
