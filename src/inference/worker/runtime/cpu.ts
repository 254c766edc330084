import { readFile } from 'node:fs/promises'
import { arch } from 'node:os'
import type { Dtype } from '../../../../models/manifest.ts'
import type { Log } from '../../log.ts'

/** True if an x86 CPU multiplies 8-bit numbers into 32 bits in one instruction, by Linux's /proc/cpuinfo; undefined if unknown. */
export function hasVnni(cpuinfo: string): boolean | undefined {
  const flags = /^flags\s*:(.*)$/m.exec(cpuinfo)?.[1]
  return flags === undefined ? undefined : /\bavx512_vnni\b|\bavx_vnni\b/.test(flags)
}

/** True if the dtype's 8-bit products need VNNI: without it they are slow and cut sums at 16 bits. Those in blocks are exact everywhere. */
export function needsVnni(dtype: Dtype): boolean {
  return dtype === 'int8' || dtype === 'int8+int4'
}

/** Logs a warning if a model's 8-bit products run without VNNI. */
export async function warnOfSlowDtype(dtype: Dtype, log: Log): Promise<void> {
  if (!needsVnni(dtype) || arch() !== 'x64') return
  if (hasVnni(await readFile('/proc/cpuinfo', 'utf8').catch(() => '')) !== false) return
  log(
    'warn',
    `The model is a build in ${dtype}, and this CPU has no VNNI instructions: it will be slow, and its sums of two products are cut at 16 bits. Build it as int8-blocks or f32.`,
  )
}
