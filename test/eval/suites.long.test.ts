import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { readRun } from '../../eval/tasks/open-domain-qa/record.ts'
import { built, finished, startNode } from '../helpers/processes.ts'
import { tinyShared } from '../helpers/service-settings.ts'

const RIVERS = ['Arl', 'Velm', 'Tromm', 'Osk', 'Lude', 'Merk', 'Sava', 'Enz', 'Isar', 'Aare', 'Glan', 'Ilz']

t.test(
  'a suite over real processes: every run in the report, the same questions without their passages, and a repeat asks nothing',
  async (t) => {
    const dir = await mkdtemp(path.join(tmpdir(), 'cepe-suite-'))
    t.teardown(() => rm(dir, { recursive: true, force: true }))
    const [folder, out] = [path.join(dir, 'real'), path.join(dir, 'out')]
    await mkdir(folder)
    const rows = RIVERS.map((name, i) => `${i + 1}\tThe river ${name} is ${100 + i} kilometres long.\tRivers\n`)
    await writeFile(path.join(folder, 'passages.tsv'), `id\ttext\ttitle\n${rows.join('')}`)
    const questions = RIVERS.slice(0, 4).map((name, i) => ({
      question: `how long is the river ${name}`,
      answer: [`${100 + i}`],
      passage_id: `${i + 1}`,
    }))
    await writeFile(path.join(folder, 'questions.jsonl'), questions.map((question) => `${JSON.stringify(question)}\n`).join(''))
    const suite = () =>
      finished(
        startNode(built('eval/cli.js'), ['suite', 'squad', folder, '--questions', '2', '--k', '2,1', '--out', out], {
          env: tinyShared(dir),
        }),
      )

    const { code, stdout, stderr } = await suite()
    t.equal(code, 0, stderr)
    t.match(stdout, /How sure the answers are[^]*A whole article in the request[^]*\| exact match \(%\) \| real text, supplied k = 1 /)
    t.match(await readFile(path.join(out, 'report.md'), 'utf8'), /real text, hybrid k = 1 \| real text, hybrid k = 2 \|/)
    const without = await readRun(path.join(out, 'hybrid, no answer'))
    t.same(without.manifest.subject.protocol.ks, [1], 'the fewest passages')
    t.equal(without.records.length, 1, 'half as many')
    t.ok(
      without.records.every(
        ({ groups, retrieval }) => groups['class'] === 'no passage with the answer' && retrieval?.answer_ranks.length === 0,
      ),
    )

    t.equal((await suite()).code, 0)
    const again = await readRun(path.join(out, 'hybrid'))
    t.equal(again.manifest.resumed.length, 1)
    t.equal(again.records.length, 2)
  },
)
