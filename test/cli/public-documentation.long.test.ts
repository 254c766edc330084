import { copyFile, mkdir, readdir, readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import t from 'tap'
import { Value } from 'typebox/value'
import { parseJson } from '../../base/json.ts'
import { describeFiles } from '../../src/jobs/sources/summary.ts'
import { isDocument, TABLE } from '../../src/jobs/sources/list.ts'
import { JobSchema } from '../../src/jobs/record/schema.ts'
import { runCli } from '../helpers/cli.ts'
import { tinyShared } from '../helpers/service-settings.ts'
import { tempDir } from '../index/helpers.ts'

const FILES = 300
/** Of the files, so many at most of kinds that are not read. */
const OTHERS = 30
/** Larger files only make the test longer. */
const MOST_BYTES = 50_000

/** Compressed files and, without OCR, pictures are left out. */
const isRead = (file: string): boolean => isDocument(file) && !/\.(?:gz|png|jpe?g)$/i.test(file)

/** Regular files below a folder that are no tables, in the order of their names. */
async function filesBelow(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch(() => [])
  const files = entries.filter((entry) => entry.isFile() && !entry.name.startsWith('.') && !TABLE.test(entry.name))
  const found: string[] = []
  for (const file of files.map((entry) => path.join(entry.parentPath, entry.name)).sort())
    if ((await stat(file)).size <= MOST_BYTES) found.push(file)
  return found
}

/** Up to so many of the files, spread over all of them. */
function spread(files: readonly string[], most: number): string[] {
  const step = Math.max(1, files.length / most)
  return files.filter((_, i) => Math.floor(i / step) !== Math.floor((i - 1) / step)).slice(0, most)
}

await t.test('300 files of the documentation of this machine, from a folder to a ready index with one command', async (t) => {
  const shared = await filesBelow('/usr/share/doc')
  const readmes = (await filesBelow('node_modules')).filter((file) => /\/readme[^/]*\.(?:md|markdown|txt|html)$/i.test(file))
  const others = spread(
    shared.filter((file) => !isRead(file)),
    OTHERS,
  )
  const documents = spread(shared.filter(isRead), (FILES - others.length) / 2)
  const chosen = [...others, ...documents, ...spread(readmes, FILES - others.length - documents.length)]
  t.ok(chosen.length >= 100, `${chosen.length} files are on this machine`)

  const dir = await tempDir(t)
  const docs = path.join(dir, 'docs')
  await mkdir(docs)
  // Names alone tell the kind of README and copyright.
  for (const [i, file] of chosen.entries()) {
    await mkdir(path.join(docs, String(i)))
    await copyFile(file, path.join(docs, String(i), path.basename(file)))
  }
  const env = tinyShared(dir)
  const index = async (...args: string[]) => {
    const { code, stdout, stderr } = await runCli(['index', ...args], env)
    t.equal(code, 0, stderr)
    return stdout
  }
  const jobOf = async (printed: string) => {
    const [id = ''] = printed.split(' ')
    return Value.Parse(JobSchema, parseJson(await readFile(path.join(env.CEPE_INDEX_DIR, 'jobs', id, 'job.json'), 'utf8')))
  }

  const from = performance.now()
  const printed = await index('add', docs)
  const seconds = (performance.now() - from) / 1000
  const { files = { indexed: 0, left_out: [] }, counters } = await jobOf(printed)
  const leftOut = files.left_out.reduce((sum, one) => sum + one.files, 0)
  t.equal(files.indexed + leftOut, chosen.length, 'every file is indexed or left out')
  t.equal(printed.trimEnd().split('\n').at(-1), describeFiles(files), 'the summary is that of the record')
  const notSupported = files.left_out.filter(({ reason }) => reason === 'not_supported').reduce((sum, one) => sum + one.files, 0)
  t.equal(notSupported, others.length, 'what is no document is said to be none')
  const report = (await readFile(path.join(env.CEPE_INDEX_DIR, 'jobs', printed.split(' ').at(0) ?? '', 'rejects.jsonl'), 'utf8')).trim()
  t.equal(report.split('\n').filter((line) => line.includes('"reason"')).length, counters.rejected, 'the report names each')
  const sources = (await index('sources')).trim().split('\n')
  t.equal(sources.length, files.indexed, 'every indexed file is a source')
  t.match(await jobOf(await index('add', docs)), { counters: { embedded: 0, skipped: counters.accepted } }, 'again, nothing is embedded')
  t.comment(`${chosen.length} files, ${counters.accepted} passages, ${seconds.toFixed(1)} s: ${describeFiles(files)}`)
})
