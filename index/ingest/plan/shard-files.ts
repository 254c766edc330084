import { type FileHandle, open } from 'node:fs/promises'
import { contentHash, RowsDigest } from '../../hash.ts'
import type { Accepted } from '../../read/contract.ts'
import type { jobFiles } from './contract.ts'

const BUFFER_BYTES = 256 * 1024

/** A file of lines, created at the first line and durable once closed. */
export function lineFile(path: string) {
  let file: FileHandle | undefined
  let waiting: string[] = []
  let bytes = 0
  const flush = async (): Promise<void> => {
    const text = waiting.join('')
    waiting = []
    bytes = 0
    if (text === '') return
    file ??= await open(path, 'w')
    await file.writeFile(text)
  }
  return {
    write: async (line: string): Promise<void> => {
      waiting.push(`${line}\n`)
      bytes += line.length
      if (bytes >= BUFFER_BYTES) await flush()
    },
    close: async (): Promise<void> => {
      try {
        await flush()
        await file?.sync()
      } finally {
        await file?.close()
        file = undefined
      }
    },
  }
}

/** Writes passages to consecutive shard files of `shardRows` rows. */
export function shardFiles(files: ReturnType<typeof jobFiles>, shardRows: number) {
  const shards: { readonly rows: number; readonly digest: string }[] = []
  const digest = new RowsDigest()
  const begin = () => ({ file: lineFile(files.shard(shards.length)), rows: 0, digest: new RowsDigest() })
  let open: ReturnType<typeof begin> | undefined
  /** Closes the open shard durably. */
  const close = async (): Promise<void> => {
    if (open === undefined) return
    await open.file.close()
    shards.push({ rows: open.rows, digest: open.digest.toString() })
    digest.addAll(open.digest)
    open = undefined
  }
  return {
    write: async ({ passage, parts, whole }: Accepted): Promise<void> => {
      const hash = contentHash(passage)
      open ??= begin()
      await open.file.write(JSON.stringify({ ...passage, hash, parts, whole }))
      open.digest.add(passage.id, hash)
      if (++open.rows === shardRows) await close()
    },
    /** Closes the last shard durably. */
    finish: async () => {
      await close()
      const [shard_rows, shard_digests] = [shards.map(({ rows }) => rows), shards.map((shard) => shard.digest)]
      return { shard_rows, shard_digests, digest: digest.toString() }
    },
    abandon: async (): Promise<void> => open?.file.close().catch(() => undefined),
  }
}
