import { readFileSync } from 'node:fs'
import { hasVnni } from '../../src/inference/worker/runtime/cpu.ts'
import { SKIPS } from './skips.ts'

function cpuinfo(): string {
  try {
    return readFileSync('/proc/cpuinfo', 'utf8')
  } catch {
    return ''
  }
}

/** Why tests of `int8` builds (`needsVnni`) are left out on this machine, or false. */
export const withoutVnni: string | false = process.arch === 'x64' && hasVnni(cpuinfo()) === false && SKIPS.vnni
