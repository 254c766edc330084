import type { Config } from '../../settings.ts'

/** Loads the settings ({@link loadConfig}) when a command runs: help does not need their schema. */
export async function loadConfig(overrides: Partial<Record<keyof Config, unknown>> = {}): Promise<Config> {
  const config = await import('../../config.ts')
  return config.loadConfig(overrides)
}
