/**
 * Indexes a folder of documents and the same passages as TSV, each by one command into its own index, with the tiny retriever: it is the
 * fastest, so that parsing matters most.
 * Usage: documents.js [--folder /usr/share/doc] [--threads 1]
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { parseJson } from '../../base/json.ts'
import { JobSchema, type Job } from '../../src/jobs/record/schema.ts'
import { benchOptions } from '../arguments.ts'
import { inFolder, printHeading, table } from '../measure.ts'
import { CLI, finished, startNode } from '../../test/helpers/processes.ts'

const MS = 1000
const ExportedSchema = Type.Object({ id: Type.String(), title: Type.String(), text: Type.String() })
const options = benchOptions({ folder: '/usr/share/doc', threads: '1' })

/** Runs a command on a separate index. @returns its output */
async function cepe(dir: string, index: string, ...args: string[]): Promise<string> {
  const env = {
    CEPE_RETRIEVER_CHECKPOINT: 'models/tiny/checkpoint/contriever',
    CEPE_RETRIEVER_DIR: join(dir, 'retriever'),
    CEPE_INDEX_DIR: join(dir, index),
    CEPE_CORPUS: '',
    CEPE_THREADS: String(options.count('threads')),
  }
  const { code, stdout, stderr } = await finished(startNode(CLI, ['index', ...args], { env }))
  if (code !== 0) throw new Error(`cepe index ${args.join(' ')}: ${stderr}`)
  return stdout
}

async function jobOf(dir: string, index: string, printed: string): Promise<Job> {
  const [id = ''] = printed.split(' ')
  return Value.Parse(JobSchema, parseJson(await readFile(join(dir, index, 'jobs', id, 'job.json'), 'utf8')))
}

function rateOf({ created_at: from, finished_at: to, counters }: Job): number {
  return (counters.accepted * MS) / (Date.parse(to ?? from) - Date.parse(from))
}

await inFolder(async (dir) => {
  const printed = await cepe(dir, 'documents', 'add', options.text('folder'))
  const documents = await jobOf(dir, 'documents', printed)
  const exported = (await cepe(dir, 'documents', 'export')).trim().split('\n')
  const rows = exported.map((line) => {
    const { id, title, text } = Value.Parse(ExportedSchema, parseJson(line))
    return [id, text, title].map((field) => field.replace(/\s+/g, ' ')).join('\t')
  })
  const tsv = join(dir, 'passages.tsv')
  await writeFile(tsv, ['id\ttext\ttitle', ...rows, ''].join('\n'))
  const lines = await jobOf(dir, 'lines', await cepe(dir, 'lines', 'add', tsv, '--no-quotes'))
  const [files, passages] = [rateOf(documents), rateOf(lines)]
  printHeading('Documents', options.count('threads'))
  console.log(printed)
  console.log(
    table(
      ['', 'passages', 'passages/s'],
      [
        ['documents', String(documents.counters.accepted), files.toFixed(0)],
        ['the same as TSV', String(lines.counters.accepted), passages.toFixed(0)],
        ['ratio (aim: 0.7)', '', (files / passages).toFixed(2)],
      ],
    ),
  )
})
