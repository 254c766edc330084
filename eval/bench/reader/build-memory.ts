/**
 * Peak memory of building from a multi-gigabyte checkpoint: layers of CEPE-LLaMA-2-7B's widths, zeros in a sparse file.
 * Each build runs in a process of its own. Usage: build-memory.ts [layers]
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildModel } from '../../../models/build.ts'
import { openCheckpoint } from '../../../models/checkpoint/open.ts'
import { DTYPES, type Dtype } from '../../../models/manifest.ts'
import { cepe7B } from './shapes.ts'
import { writeSyntheticCheckpoint } from '../../../test/fixtures/synthetic-checkpoint.ts'

const LAYERS = 4

function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(2)} GB`
}

async function buildOnce(checkpointDir: string, outDir: string, dtype: Dtype): Promise<void> {
  const start = performance.now()
  await buildModel({ checkpointDir, outDir, dtype })
  const peak = process.resourceUsage().maxRSS * 1024
  console.log(
    `| ${dtype} | ${gigabytes(peak)} | ${gigabytes(statSync(join(outDir, 'weights.bin')).size)} | ${((performance.now() - start) / 1000).toFixed(0)} s |`,
  )
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'cepe-build-memory-'))
  try {
    const dir = await writeSyntheticCheckpoint(
      join(folder, 'checkpoint'),
      cepe7B({ layers: Number(process.argv[2] ?? LAYERS), encoderLayers: 2 }),
      { sparse: true },
    )
    const checkpoint = await openCheckpoint(dir)
    const largest = Math.max(...[...checkpoint.tensors.values()].map(({ bytes }) => bytes))
    await checkpoint.close()
    console.log(
      `checkpoint: ${gigabytes(statSync(join(dir, 'model.safetensors')).size)}, largest tensor ${gigabytes(largest)}; allowed: ${gigabytes(2e9 + largest)}\n`,
    )
    console.log('| dtype | peak memory | data file | time |\n| --- | --- | --- | --- |')
    for (const dtype of DTYPES) {
      const outDir = join(folder, dtype)
      const { status } = spawnSync(process.execPath, [...process.execArgv, fileURLToPath(import.meta.url), '--build', dir, outDir, dtype], {
        stdio: 'inherit',
      })
      if (status !== 0) throw new Error(`the ${dtype} build failed`)
      rmSync(outDir, { recursive: true })
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const [flag, dir = '', outDir = '', dtypeName] = process.argv.slice(2)
const dtype = DTYPES.find((known) => known === dtypeName)
if (flag === '--build' && dtype) await buildOnce(dir, outDir, dtype)
else await main()
