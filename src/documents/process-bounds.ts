import { readFile } from 'node:fs/promises'

/** Memory limits of a process that parses files. */
export const HEAP_MB = 512
export const RESIDENT_BYTES = 1024 * 2 ** 20
export const MEMORY_CHECK_MS = 200
/** Pages of /proc/<pid>/statm are of this size on Linux's x86-64 and most of its arm64. */
const PAGE_BYTES = 4096

/** Resident memory of a process; 0 without /proc, where only the heap limit applies. */
export async function residentBytes(pid: number | undefined): Promise<number> {
  const fields = await readFile(`/proc/${pid ?? 0}/statm`, 'utf8').catch(() => '')
  return PAGE_BYTES * Number(fields.split(' ').at(1) ?? 0)
}
