import { folderStore } from './folder/folder-store.ts'
import { objectStore } from './object-store/object-store.ts'
import type { Store } from './store.ts'

const ADDRESS = /^[a-z][a-z0-9+.-]+:\/\//i

/** The store that a location is in. The one place that tells an address from a folder. */
export function storeOf(location: string): Store {
  return ADDRESS.test(location) ? objectStore : folderStore
}

/** What is beneath a folder or an address. */
export function within(dir: string, ...names: readonly string[]): string {
  return storeOf(dir).join(dir, ...names)
}
