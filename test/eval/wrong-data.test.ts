import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { createReaderClient } from '../../eval/client/reader.ts'
import { buildTaskReport } from '../../eval/run/report.ts'
import { readRunOf } from '../../eval/tasks/runs.ts'
import { taskOptions } from '../../eval/run/options.ts'
import { evalProgram } from '../../eval/commands/program.ts'
import { runTask } from '../../eval/run/run-task.ts'
import { toMarkdown } from '../../eval/report/blocks.ts'
import { lines } from '../../eval/tasks/lines/task.ts'
import { lm } from '../../eval/tasks/lm/task.ts'
import { builtFixture } from '../fixtures/built-fixture.ts'

await t.test('what a researcher may take by mistake is named, and never scored', async (t) => {
  const client = await createReaderClient({ READER_DIR: await builtFixture(t, 'cepe-tiny-gqa'), READER_CHECKPOINT: '' })
  t.teardown(() => client.close())
  const dir = await mkdtemp(path.join(tmpdir(), 'cepe-wrong-'))
  t.teardown(() => rm(dir, { recursive: true }))
  const small = { contexts: '1', contextTokens: '8', decoderTokens: '16', scoredTokens: '4', methods: 'cepe', windows: '2' }
  const refused = async (name: string, content: string | Uint8Array, message: RegExp) => {
    const data = path.join(dir, name)
    await writeFile(data, content)
    const run = runTask({ task: lm, options: taskOptions(lm, { ...small, data }), client, folder: path.join(dir, `run-${name}`) })
    await t.rejects(run, { code: 'dataset_invalid', message }, name)
  }

  await t.test('files that are no text', async (t) => {
    await refused(
      'picture.png',
      Buffer.concat([Buffer.from('89504e470d0a1a0a00', 'hex'), Buffer.alloc(4000, 7)]),
      /picture\.png is no text file/,
    )
    await refused('scan.pdf', `%PDF-1.7\n${'% w5 w9 '.repeat(400)}`, /scan\.pdf is a PDF file.*cepe read/)
    await refused('latin.txt', Buffer.from(`caf\u00e9 ${'w5 '.repeat(400)}`, 'latin1'), /latin\.txt is not UTF-8/)
    await refused('empty.txt', ' \n', /empty\.txt has no text/)
    t.end()
  })

  await t.test('passages: gzipped ones are joined to long texts as others are', async (t) => {
    const rows = Array.from({ length: 40 }, (_, i) => `${i}\tw5 w9 w7 w1 w2\tTitle ${i}`).join('\n')
    const counts = []
    for (const [name, content] of [
      ['some.tsv', `id\ttext\ttitle\n${rows}\n`],
      ['some.tsv.gz', gzipSync(`id\ttext\ttitle\n${rows}\n`)],
    ] as const) {
      const data = path.join(dir, name)
      await writeFile(data, content)
      const { items } = await lm.prepare(taskOptions(lm, { ...small, data, windows: '100' }), client)
      counts.push(items.length)
    }
    t.same(counts, [8, 8], '40 passages of 5 tokens, without the BOS that this tokenizer does not put, in windows of 24')
  })

  await t.test('texts that are all too short: why nothing is left', () =>
    refused(
      'short.jsonl',
      '{"text": "w5 w9"}\n{"text": "w7"}\n',
      /nothing to ask in the data of lm: 2 x text of fewer than 24 tokens \(line 1, line 2\)/,
    ),
  )

  await t.test('a setting that the window held for none of the items is counted in the report', async (t) => {
    const folder = path.join(dir, 'lines')
    const options = { lines: '4,5', cases: '1', decoderTokens: '100', chunkTokens: '32', maxNewTokens: '4', minNewTokens: '0' }
    await runTask({ task: lines, options: taskOptions(lines, options), client, folder })
    const report = toMarkdown(buildTaskReport([await readRunOf(folder)]).blocks)
    t.match(report, /- decoder-only: 2 of 2 items were skipped, since they exceed the model's window/)
    t.match(report, /\| decoder-only \| - \| - \| - \| - \| - \| - \|/)
    t.notMatch(report, /NaN|Nothing was skipped/)
  })
})

await t.test('rotary bases are compared from a checkpoint, which a built reader alone does not bring', async (t) => {
  process.env['CEPE_READER_DIR'] = path.join(tmpdir(), 'built-elsewhere')
  t.teardown(() => delete process.env['CEPE_READER_DIR'])
  await t.rejects(evalProgram().parseAsync(['rope'], { from: 'user' }), { code: 'options_invalid', message: /set CEPE_READER_CHECKPOINT/ })
})
