import { folderStore } from './folder/folder-store.ts'
import { objectStore } from './object-store/object-store.ts'
import type { FileInfo, Store } from './store.ts'

const ADDRESS = /^[a-z][a-z0-9+.-]+:\/\//i

/** Returns the store of a location. The only function that distinguishes an address from a folder. */
export function storeOf(location: string): Store {
  return ADDRESS.test(location) ? objectStore : folderStore
}

export function within(dir: string, ...names: readonly string[]): string {
  return storeOf(dir).join(dir, ...names)
}

/** Bytes of the files in a folder and below. */
export async function bytesUnder(dir: string, isCounted: (file: FileInfo) => boolean = () => true): Promise<number> {
  let bytes = 0
  for await (const file of storeOf(dir).files.walk(dir)) if (isCounted(file)) bytes += file.bytes
  return bytes
}

/** Sizes of the files in a folder and below, by relative path. */
export async function sizesUnder(folder: string, wanted: (file: string) => boolean = () => true): Promise<Map<string, number>> {
  const found = new Map<string, number>()
  for await (const { name, bytes } of storeOf(folder).files.walk(folder)) if (wanted(name)) found.set(name, bytes)
  return found
}
