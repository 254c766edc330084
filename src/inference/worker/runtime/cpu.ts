import { readFile } from 'node:fs/promises'
import { arch } from 'node:os'
import { precisionOf } from '../../../../models/blocks/precision.ts'
import type { CepeManifest } from '../../../../models/manifest.ts'
import type { Log } from '../../log.ts'

/** True if an x86 CPU multiplies 8-bit numbers into 32 bits in one instruction, by Linux's /proc/cpuinfo; undefined if unknown. */
export function hasVnni(cpuinfo: string): boolean | undefined {
  const flags = /^flags\s*:(.*)$/m.exec(cpuinfo)?.[1]
  return flags === undefined ? undefined : /\bavx512_vnni\b|\bavx_vnni\b/.test(flags)
}

/** True if a build's 8-bit products have one scale per row: without VNNI these are slow and cut sums at 16 bits. Those in blocks are exact. */
export function needsVnni({
  dtype,
  graphs,
}: Pick<CepeManifest, 'dtype'> & { readonly graphs: Pick<CepeManifest['graphs'], 'encoder'> }): boolean {
  const { matrices, tokens, head, context } = precisionOf(dtype)
  return [matrices, tokens, head, graphs.encoder === null ? null : context].some((form) => form?.kind === 'rows')
}

/** True if this machine has an x86 CPU without VNNI; false where that is unknown. */
export async function lacksVnni(): Promise<boolean> {
  return arch() === 'x64' && hasVnni(await readFile('/proc/cpuinfo', 'utf8').catch(() => '')) === false
}

/** Logs a warning if a model's 8-bit products run without VNNI. */
export async function warnOfSlowDtype(build: CepeManifest, log: Log): Promise<void> {
  if (!needsVnni(build) || !(await lacksVnni())) return
  log(
    'warn',
    `The model is a build in ${build.dtype}, and this CPU has no VNNI instructions: its 8-bit products will be slow, and sums of two of them are cut at 16 bits. Build it as int8-blocks or f32.`,
  )
}
