import { chmod, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t, { type Test } from 'tap'
import type { ContrieverManifest } from '../../../../models/manifest.ts'
import { checkDeviceMemory, estimateDeviceBytes, freeDeviceBytes } from '../../../../src/inference/pool/models/device-memory.ts'

const GIB = 2 ** 30
const manifest: ContrieverManifest = {
  builder_version: 1,
  built_at: '',
  dtype: 'f16',
  opset: 21,
  source: { name: 'm', revision: '0'.repeat(64) },
  files: [{ name: 'weights.bin', bytes: 14 * GIB, sha256: '0'.repeat(64) }],
  parameters: 0,
  architecture: 'contriever',
  graphs: { embed: '' },
  dims: { vocab_size: 1, hidden_size: 1, layers: 1, heads: 1, window: 1 },
  tokens: { cls_id: 0, sep_id: 0, pad_id: 0 },
}

/** A machine whose nvidia-smi prints this. */
async function machineWith(t: Pick<Test, 'testdir' | 'teardown'>, answer: string): Promise<void> {
  const bin = t.testdir()
  await writeFile(path.join(bin, 'nvidia-smi'), `#!/bin/sh\n${answer}\n`)
  await chmod(path.join(bin, 'nvidia-smi'), 0o755)
  const before = process.env['PATH']
  process.env['PATH'] = `${bin}:${before ?? ''}`
  t.teardown(() => {
    process.env['PATH'] = before
  })
}

t.test('weights of every process and an overhead count', (t) => {
  t.equal(estimateDeviceBytes(manifest, 2), 2 * 16 * GIB)
  t.end()
})

t.test('a device with too little free memory is refused, with both figures and the remedy', async (t) => {
  await machineWith(t, 'echo 8192')
  t.equal(await freeDeviceBytes(0), 8 * GIB)
  await t.rejects(checkDeviceMemory(manifest, 1, 0), /8\.0 GiB free, the model needs about 16\.0 GiB.*f16-int4/)
})

t.test('enough memory passes; a machine that cannot be asked is not refused', async (t) => {
  await machineWith(t, 'echo 81559')
  await t.resolves(checkDeviceMemory(manifest, 1, 0))
  await machineWith(t, 'exit 9')
  t.equal(await freeDeviceBytes(0), undefined)
  await t.resolves(checkDeviceMemory(manifest, 1, 0))
})
