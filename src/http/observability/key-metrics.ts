import { Gauge, type Registry } from 'prom-client'
import type { Keys } from '../../keys/keys.ts'

/** Metrics of the keys, as they are at a scrape. */
export function registerKeyMetrics(registry: Registry, keys: Pick<Keys, 'unreadable'>): void {
  new Gauge({
    name: 'cepe_keys_unreadable',
    help: 'Key files that cannot be read, 1 where their folder cannot: what was read of them last counts, and a revocation in them does not.',
    registers: [registry],
    collect() {
      this.set(keys.unreadable)
    },
  })
}
