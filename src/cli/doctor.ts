import { Command } from 'commander'
import { messageOf } from '../../base/errors.ts'
import { print } from './program/shown.ts'

/** `cepe doctor`: what this machine has of what CUDA needs. */
export function doctorCommand(): Command {
  return new Command('doctor')
    .description(
      'show what of CUDA this machine has (driver, provider, libraries), and test the device; ends with 1 if something is missing',
    )
    .action(async () => {
      const { loadConfig } = await import('../config.ts')
      const { cudaParts } = await import('../inference/cuda/parts.ts')
      const { probeCuda } = await import('../inference/cuda/probe.ts')
      const { DEVICE_ID: device } = loadConfig()
      const parts = await cudaParts()
      // Missing libraries are already named.
      if (parts.every(({ problem }) => problem === undefined))
        parts.push(
          await probeCuda(device).then(
            () => ({ name: `device ${device}`, found: 'computes: set CEPE_PROVIDER=cuda' }),
            (error: unknown) => ({ name: `device ${device}`, found: '', problem: messageOf(error) }),
          ),
        )
      for (const { name, found, problem } of parts) {
        const said = [found, problem].filter(Boolean).join('. ')
        await print(`${problem === undefined ? 'ok     ' : 'problem'}  ${name.padEnd(13)} ${said}\n`)
      }
      if (parts.some(({ problem }) => problem !== undefined)) process.exitCode = 1
    })
}
