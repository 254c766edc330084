import type { Static } from '#typebox'
import type { EnvironmentSchema, FileSchema, ResumedSchema } from '../runner/manifest.ts'

/** A file in reports. */
export function fileText({ file, sha256 }: Static<typeof FileSchema>): string {
  return `${file} (SHA-256 ${sha256.slice(0, 12)})`
}

interface Measured {
  readonly environment: Static<typeof EnvironmentSchema>
  readonly started_at: string
  readonly resumed: Static<typeof ResumedSchema>
}

/** Rows of a report's last table: date and environment of a run. */
export function environmentRows({ environment, started_at: startedAt, resumed }: Measured): string[][] {
  const { client, version, node, platform, cores, cpu, memory_gb: memory } = environment
  return [
    ['asked', `${client}, from ${startedAt}`],
    ...resumed.map(({ at, index_version: index }) => ['resumed', index === null ? at : `${at}, index version ${index}`]),
    ['evaluated with', `version ${version}, Node ${node}, ${platform}, ${cores} x ${cpu}, ${memory} GB`],
  ]
}
