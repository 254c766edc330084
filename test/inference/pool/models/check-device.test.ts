import { chmod, writeFile } from 'node:fs/promises'
import path from 'node:path'
import t, { type Test } from 'tap'
import type { CepeManifest, ContrieverManifest } from '../../../../models/manifest.ts'
import { checkDevice } from '../../../../src/inference/pool/models/process-options.ts'
import { encoderBatchTokens } from '../../../../src/inference/batches.ts'

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

const cuda = { provider: { name: 'cuda', deviceId: 0 } } as const

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

t.test('a device with too little free memory is refused, with both figures and the remedy', async (t) => {
  await machineWith(t, 'echo 8192')
  await t.rejects(checkDevice(manifest, cuda), /8\.0 GiB free, the model needs about 16\.0 GiB.*f16-int4/)
})

t.test(
  'enough memory for the weights of every process and an overhead passes; a machine that cannot be asked is not refused',
  async (t) => {
    await machineWith(t, 'echo 81559')
    t.equal(await checkDevice(manifest, { ...cuda, children: 2 }), 81_559 * 2 ** 20 - 32 * GIB)
    await machineWith(t, 'exit 9')
    t.equal(await checkDevice(manifest, cuda), undefined)
  },
)

await t.test('precisions that CUDA leaves to the CPU are refused there, with the remedy, and accepted on a CPU', async (t) => {
  await machineWith(t, 'echo 81559')
  const reader = { ...manifest, architecture: 'cepe' } as unknown as CepeManifest
  const refused = { code: 'config_invalid', message: /in (f32|int8.*|int4), .*--dtype f16 or f16-int4, or set CEPE_PROVIDER=cpu/ }
  for (const dtype of ['f32', 'int8', 'int8-blocks', 'int8+int4', 'int4'] as const)
    await t.rejects(checkDevice({ ...reader, dtype }, cuda), refused, `reader in ${dtype}`)
  for (const dtype of ['f16', 'f16-int4'] as const) await t.resolves(checkDevice({ ...reader, dtype }, cuda), `reader in ${dtype}`)
  for (const dtype of ['int8', 'int8+int4'] as const)
    await t.rejects(checkDevice({ ...manifest, dtype }, cuda), refused, `retriever in ${dtype}`)
  for (const dtype of ['f32', 'f16'] as const) await t.resolves(checkDevice({ ...manifest, dtype }, cuda), `retriever in ${dtype}`)
  t.equal(await checkDevice({ ...reader, dtype: 'int8' }, { provider: { name: 'cpu' } }), undefined)
})

await t.test("an encoder's runs take 4,096 tokens on a device, and more where memory is left", (t) => {
  const wide = { ...manifest, architecture: 'cepe', dims: { encoder_hidden_size: 1024 } } as unknown as CepeManifest
  t.equal(encoderBatchTokens(wide), 4096)
  t.equal(encoderBatchTokens(wide, 2 * GIB), 8192)
  t.equal(encoderBatchTokens(wide, 4 * GIB, 2), 8192, 'processes share the memory')
  t.equal(encoderBatchTokens(wide, 70 * GIB), 16_384)
  t.equal(encoderBatchTokens({ ...wide, dims: { ...wide.dims, encoder_hidden_size: 0 } }), 4096, 'a decoder alone')
  t.end()
})
