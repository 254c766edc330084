import type { Config } from '../settings.ts'

/** The settings ({@link loadConfig}), read when a command does its work: what only shows help need not load their schema. */
export async function loadConfig(overrides: Partial<Record<keyof Config, unknown>> = {}): Promise<Config> {
  const config = await import('../config.ts')
  return config.loadConfig(overrides)
}
