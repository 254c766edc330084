import { lacksVnni } from '../../src/inference/worker/runtime/cpu.ts'
import { SKIPS } from './skips.ts'

/** Why tests of builds that need VNNI (`needsVnni`) are left out on this machine, or false. */
export const withoutVnni: string | false = (await lacksVnni()) && SKIPS.vnni
