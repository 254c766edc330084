import os from 'node:os'
import { Type, type Static } from '#typebox'
import { packageVersion } from '../../src/config.ts'

/** Fields common to the manifests of all runs. */
export const ProblemSchema = Type.Object({
  kind: Type.String(),
  count: Type.Integer(),
  places: Type.Array(Type.String()),
  effect: Type.Enum(['skipped', 'kept']),
})
export const FileSchema = Type.Object({ file: Type.String(), sha256: Type.String() })

export const EnvironmentSchema = Type.Object({
  client: Type.String(),
  version: Type.String(),
  node: Type.String(),
  platform: Type.String(),
  cpu: Type.String(),
  cores: Type.Integer(),
  memory_gb: Type.Number(),
})

export const ResumedSchema = Type.Array(Type.Object({ at: Type.String(), index_version: Type.Union([Type.Integer(), Type.Null()]) }), {
  description:
    'When the run was gone on with. An index grows new versions by being tidied, so another version of it does not make another run; other passages do.',
})

/** Environment of the evaluation: for a remote service, of the asking machine. */
export function environment(client: { readonly name: string }): Static<typeof EnvironmentSchema> {
  return {
    client: client.name,
    version: packageVersion(),
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    cpu: os.cpus()[0]?.model.trim() ?? 'unknown',
    cores: os.availableParallelism(),
    memory_gb: Math.round(os.totalmem() / 2 ** 30),
  }
}
