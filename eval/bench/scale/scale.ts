/**
 * The commit of ready vectors against LanceDB alone, and what a table's parts take on the disk, in one run.
 * Usage: scale.js [--rows 50000]
 */
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { at } from '../../../base/at.ts'
import { readShard } from '../../../index/ingest/plan/plan.ts'
import { readAlias, tableFolder } from '../../../index/versions/alias.ts'
import { benchOptions } from '../arguments.ts'
import { DIMENSION } from '../../../test/fixtures/synthetic-corpus.ts'
import { bareAppend } from '../index/write.ts'
import { machine, table } from '../measure.ts'
import { commitReady, readyShardDir } from './ready-shards.ts'

const rows = benchOptions({ rows: '50000' }).count('rows')

async function bytesUnder(folder: string): Promise<number> {
  const files = (await readdir(folder, { withFileTypes: true, recursive: true })).filter((entry) => entry.isFile())
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(file.parentPath, file.name))).size))
  return sizes.reduce((sum, size) => sum + size, 0)
}

const dir = await mkdtemp(join(tmpdir(), 'cepe-bench-scale-'))
try {
  const shardDir = await readyShardDir(join(dir, 'shards'), rows)
  const before = await bareAppend(dir, 'bare', rows)
  const { started, adopted, written, done } = await commitReady(shardDir, dir, join(dir, 'jobs', 'commit'))
  const bare = (before + (await bareAppend(dir, 'bare', rows))) / 2
  const stored = tableFolder(dir, (await readAlias(dir, 'bench'))?.stored_as ?? '')
  const indexes = join(stored, '_indices')
  const sizes = await Promise.all(
    (await readdir(indexes)).map(async (name) => {
      const files = await readdir(join(indexes, name))
      return { vectors: files.some((file) => file.startsWith('auxiliary')), bytes: await bytesUnder(join(indexes, name)) }
    }),
  )
  const sum = (vectors: boolean): number => sizes.filter((one) => one.vectors === vectors).reduce((total, { bytes }) => total + bytes, 0)
  const rate = (milliseconds: number): string => Math.round((rows * 1000) / milliseconds).toLocaleString('en')
  console.log(`# Commit of ready vectors, ${rows.toLocaleString('en')} passages of ${DIMENSION} numbers\n\n${machine(1)}\n`)
  console.log(
    table(
      ['phase', 'passages/s'],
      [
        ['LanceDB add alone', rate(bare * 1000)],
        ['commit: plan adopted', rate(adopted - started)],
        ['commit: vectors read, checked, written, fsynced', rate(written - adopted)],
        ['commit: read back, indexed, recall measured', rate(done - written)],
      ],
    ),
  )
  console.log(`\nWriting against LanceDB alone: ${((bare * 1000) / (written - adopted)).toFixed(2)}.\n`)
  console.log(
    table(
      ['bytes of a passage', ''],
      [
        ['vector file', String(Math.round((await bytesUnder(join(shardDir.folder, 'vectors'))) / rows))],
        ['planned text', String(Math.round((await bytesUnder(join(shardDir.folder, 'shards'))) / rows))],
        ['rows of the table', String(Math.round((await bytesUnder(join(stored, 'data'))) / rows))],
        ['vector index', String(Math.round(sum(true) / rows))],
        ['other indexes', String(Math.round(sum(false) / rows))],
      ],
    ),
  )
  console.log(`\nTexts are of about ${at(await readShard(shardDir.folder, 0, shardDir.plan), 0).passage.text.length} characters.`)
} finally {
  await rm(dir, { recursive: true, force: true })
}
