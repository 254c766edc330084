import { readFileSync } from 'node:fs'
import { attempt } from '../../../../base/errors.ts'
import { precisionOf } from '../../../../models/blocks/precision.ts'
import type { CepeManifest } from '../../../../models/manifest.ts'

type Build = Pick<CepeManifest, 'dtype'> & { readonly graphs: Pick<CepeManifest['graphs'], 'encoder'> }

/** Flags of an x86 CPU that multiplies 8-bit numbers into 32 bits in one instruction, in Linux's /proc/cpuinfo. */
const VNNI = /^flags\s*:.*\b(?:avx512_vnni|avx_vnni)\b/m
const X86 = /^flags\s*:/m

/**
 * A warning if 8-bit products of a build are slow on this machine, and cut sums at 16 bits: those with one scale per row, on an x86 CPU
 * without VNNI. Products in blocks are exact.
 */
export function vnniWarning({ dtype, graphs }: Build, cpuinfo = attempt(() => readFileSync('/proc/cpuinfo', 'utf8'), '')) {
  const { matrices, tokens, head, context } = precisionOf(dtype)
  const isByRows = [matrices, tokens, head, graphs.encoder === null ? null : context].some((form) => form?.kind === 'rows')
  if (!isByRows || VNNI.test(cpuinfo) || !X86.test(cpuinfo)) return undefined
  return `The model is a build in ${dtype}, and this CPU has no VNNI instructions: its 8-bit products will be slow, and sums of two of them are cut at 16 bits. Build it as int8-blocks or f32.`
}
