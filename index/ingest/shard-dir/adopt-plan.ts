import { copyFile, link, rm } from 'node:fs/promises'
import { syncPath, writeFileDurably } from '../../../base/durable.ts'
import { osCode } from '../../../base/errors.ts'
import { exists } from '../../../base/exists.ts'
import type { Plan } from '../plan/contract.ts'
import { jobFiles } from '../plan/job-files.ts'
import { shardOf, vectorPath, type ShardDir } from './shard-dir.ts'
import type { PlannedRow } from '../plan/plan.ts'
import { readVectorFile } from './vector-file.ts'
import { makeFolder } from '../../../base/make-folder.ts'

/**
 * Copies a shard folder's plan into a job's folder, with hard links where possible, so that the job's rows cannot change. Starts over after
 * an interruption.
 */
export async function adoptPlan(shardDir: ShardDir, folder: string): Promise<Plan> {
  const [from, to] = [jobFiles(shardDir.folder), jobFiles(folder)]
  await rm(to.shards, { recursive: true, force: true })
  await makeFolder(to.shards)
  for (const shard of shardDir.plan.shard_rows.keys()) await linkOrCopy(from.shard(shard), to.shard(shard))
  if (await exists(from.rejects)) await copyFile(from.rejects, to.rejects)
  await syncPath(to.shards)
  await writeFileDurably(to.plan, `${JSON.stringify(shardDir.plan)}\n`)
  return shardDir.plan
}

async function linkOrCopy(from: string, to: string): Promise<void> {
  try {
    await link(from, to)
  } catch (error) {
    if (!['EXDEV', 'EPERM', 'ENOTSUP', 'EMLINK', 'ENOSYS'].includes(osCode(error) ?? '')) throw error
    await copyFile(from, to)
    await syncPath(to)
  }
}

/** Returns a reader of the precomputed vectors of a shard. @throws index_invalid naming a shard whose vectors are missing or invalid */
export function vectorReader(shardDir: ShardDir): (shard: number, rows: readonly PlannedRow[]) => Promise<Uint16Array> {
  return (shard, rows) => readVectorFile(vectorPath(shardDir.folder, shard), shardOf(shardDir, shard), rows)
}
