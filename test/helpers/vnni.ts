import type { Dtype } from '../../models/manifest.ts'
import { vnniWarning } from '../../src/inference/worker/runtime/cpu.ts'
import { SKIPS } from './skips.ts'

/** Why tests of a decoder in a precision that needs VNNI are left out on this machine, or false. */
export function withoutVnniOf(dtype: Dtype): string | false {
  return vnniWarning({ dtype, graphs: { encoder: null } }) !== undefined && SKIPS.vnni
}

export const withoutVnni = withoutVnniOf('int8')
