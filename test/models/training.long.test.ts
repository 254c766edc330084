import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { formatVerification } from '../../models/golden.ts'
import { verifyGolden } from '../../src/inference/worker/tasks/verify.ts'
import { startServer } from '../helpers/cli.ts'
import { pythonCommand, runPython, withoutTorch, type Program } from '../helpers/python.ts'
import { root } from '../helpers/root.ts'
import { tinyService } from '../helpers/service-settings.ts'
import { build } from './helpers.ts'

const BASE = path.join(root, 'test/fixtures/bos/none')
const ENCODER = {
  vocab_size: 0,
  hidden_size: 16,
  intermediate_size: 24,
  num_hidden_layers: 1,
  num_attention_heads: 2,
  max_position_embeddings: 256,
}
const SMALL = ['--rows', '2', '--part', '1', '--main', '16', '--chunks', '2', '--chunk', '8', '--save-every', '0']

/** Documents that hold whole sequences, and short ones. */
function writeText(dir: string): void {
  const words = Array.from({ length: 40 }, (_, i) => `river ${i} is water`).join(' ')
  for (const domain of ['arxiv', 'book', 'wiki']) {
    const texts = domain === 'wiki' ? words.split(' is ') : [words, `${words} ${words}`]
    writeFileSync(path.join(dir, `${domain}.jsonl`), texts.map((text) => `${JSON.stringify({ text })}\n`).join(''))
  }
}

await t.test(
  'a base is trained through all stages, also after a kill, exported, built and asked',
  { skip: await withoutTorch() },
  async (t) => {
    const dir = t.testdir({ text: {}, runs: {}, killed: {} })
    const at = (name: string) => path.join(dir, name)
    writeText(at('text'))
    writeFileSync(at('encoder.json'), JSON.stringify(ENCODER))
    const train = (runs: string, stage: string, ...args: readonly string[]): Program => {
      return ['models/recipe/train.py', stage, '--base', BASE, '--tokens', at('tokens'), '--runs', at(runs), ...args]
    }
    const exported = (stage: string, out: string, runs = 'runs'): Program => {
      return [
        'models/recipe/export.py',
        '--base',
        BASE,
        '--runs',
        at(runs),
        '--stage',
        stage,
        '--out',
        at(out),
        '--dtype',
        'float32',
        '--golden',
      ]
    }
    const standard = (runs: string, ...args: readonly string[]) => train(runs, 'standard', '--steps', '6', ...SMALL, ...args)

    const printed = await runPython(
      ['models/recipe/tokenise.py', '--base', BASE, '--text', at('text'), '--out', at('tokens')],
      train('runs', 'mlm', '--encoder', at('encoder.json'), '--steps', '3', '--rows', '4', '--part', '4', '--main', '16'),
      train('runs', 'warmup', '--steps', '3', ...SMALL),
      standard('runs'),
      train('runs', 'ceped', '--steps', '2', '--begin', 'standard', ...SMALL),
      exported('standard', 'unbroken'),
      exported('ceped', 'checkpoint'),
    )
    t.match(printed, /book: 2 documents/)
    t.match(printed, /ceped: [\d,]+ trained parameters, after standard/)

    cpSync(at('runs/warmup.pt'), at('killed/warmup.pt'))
    const running = spawn(...pythonCommand([standard('killed')]), { stdio: 'ignore' })
    while (!existsSync(at('killed/standard.pt')) && running.exitCode === null) await setTimeout(2)
    running.kill('SIGKILL')
    await once(running, 'exit')
    t.equal(running.signalCode, 'SIGKILL', 'in the midst of it')
    t.match(await runPython(standard('killed'), exported('standard', 'resumed', 'killed')), /standard: resumed at step [1-5]\b/)
    const weights = (name: string) => readFileSync(at(`${name}/model.safetensors`))
    t.ok(weights('resumed').equals(weights('unbroken')), 'a run that was killed computes what it would have computed')
    t.notOk(weights('checkpoint').equals(weights('unbroken')))
    await t.rejects(runPython(standard('killed', '--rate', '1')), { message: /was begun with {'rate': 0.0003}: give the same options/ })

    const { dir: built } = await build(t, { checkpointDir: at('checkpoint'), dtype: 'f32' })
    const [result] = await verifyGolden(built, [at('checkpoint/golden-exported.safetensors')], 2e-4)
    t.ok(result?.ok, result ? formatVerification(result) : 'nothing was compared')

    const server = await startServer(tinyService(dir, { CEPE_READER_CHECKPOINT: at('checkpoint'), CEPE_DEMONSTRATIONS: '' }))
    t.teardown(() => server.stop())
    const response = await fetch(`${server.url}/v1/answer`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        question: 'what is the river',
        mode: 'cepe',
        k_decoder: 0,
        passages: [{ text: 'The river is water.', title: 'River' }],
      }),
    })
    t.match([response.status, await response.json()], [200, { mode: 'cepe', evidence: [{ role: 'encoder' }] }])
  },
)
