import type { Lock } from '../../base/locks/lock.ts'

/**
 * Where an index lies: a folder of a file system, or an address in an object store. Locations are texts, and `storeOf` says which
 * store a location is in. What only one of both can do is a property, so that callers ask for what they need and never for the kind.
 */
export interface Store extends Properties {
  /** The location beneath another. */
  join(dir: string, ...names: readonly string[]): string
  /** An absolute location; one that is relative is taken from `base`. */
  resolve(base: string, location: string): string
  /**
   * Looks whether the store answers and can be used, for writing too where asked; a folder is looked at by who makes it.
   * @throws config_invalid, store_unavailable
   */
  check(dir: string, options: { readonly writes: boolean }): Promise<void>
  /** Bytes that may still be written; Infinity where there is no telling. */
  freeBytes(dir: string): Promise<number>
  /** What LanceDB needs to reach the store; undefined for nothing. */
  lanceOptions(): Record<string, string> | undefined
  /** An error of reading a table: store_unavailable where the store kept LanceDB from it; as it came otherwise. */
  readError(error: unknown): Error
  readonly files: Files
  readonly values: Values
  readonly locks: Locks
  readonly logs: Logs
  readonly marks: Marks
}

interface Properties {
  /** Other files can lie beside the tables (records of jobs, answers, calibrations), so that every process of the index sees them. */
  readonly keepsFiles: boolean
  /** Folders are renamed and get second names in moments. Elsewhere a record that is written last says that a copy is whole. */
  readonly renames: boolean
  /** What was acknowledged is durable, whole and checked by the store: nothing is forced, compared or rolled back. */
  readonly durable: boolean
  /** Each look is a request, which takes tens of milliseconds. */
  readonly slowReads: boolean
  /** A holder of a lock may lose it without noticing: what it writes is checked before, and fenced off after (`locks.check`). */
  readonly locksCanBeLost: boolean
}

/** A file in a folder or below. */
export interface FileInfo {
  /** Path in the folder, with slashes. */
  readonly name: string
  readonly bytes: number
  /** Its content has another name too, and stays when this one goes. */
  readonly shared: boolean
}

/** Files, and folders of them. What another process removes meanwhile is left out. */
export interface Files {
  /** Makes a folder, and those above it; one that is there stays. */
  makeFolder(dir: string): Promise<void>
  /** Names of what is directly in a folder, in their order; none where there is no such folder. */
  list(dir: string): Promise<string[]>
  /** Files in a folder and below, by name. @param most stops after so many */
  walk(dir: string, most?: number): AsyncIterable<FileInfo>
  /** Bytes of all files in a folder and below. */
  bytes(dir: string): Promise<number>
  /** Milliseconds since a file or folder was changed, at least; Infinity where it is not there. */
  age(path: string): Promise<number>
  /** Content of a small file; undefined where it is not there. */
  read(path: string): Promise<string | undefined>
  /** Writes a small file whole or not at all; durable when it returns. */
  write(path: string, text: string): Promise<void>
  /** Removes a file; one that is not there is no error. */
  remove(path: string): Promise<void>
  /** Removes a folder with all that is in it. */
  removeTree(dir: string): Promise<void>
  /** Renames a folder at once and durably. @throws unsupported where the store has no such step */
  rename(from: string, to: string): Promise<void>
  /**
   * Makes another file of the same content within the store: a second name where that can be.
   * @returns false where the first has gone. @throws unsupported where it is too large
   */
  copy(from: string, to: string, options: { readonly bytes: number; readonly writtenOnce: boolean }): Promise<boolean>
  /** Copies a file into a new one on a local disk. @throws not_found where it has gone */
  download(path: string, to: string): Promise<void>
}

/** Small values that are replaced whole, each under a lock (`locks.of`). */
export interface Values {
  /** @returns undefined where there is none. @throws index_invalid for a damaged one */
  read(path: string): Promise<unknown>
  /** @throws conflict where the lock that it is written under was lost */
  write(path: string, value: Readonly<Record<string, unknown>>): Promise<void>
  /** Writes a value where there is none. @returns false where there is one */
  create(path: string, value: Readonly<Record<string, unknown>>): Promise<boolean>
  remove(path: string): Promise<void>
  /** Milliseconds since another value was written; Infinity where there is none. */
  age(path: string): Promise<number>
  /** Is another one whenever the value is. */
  stamp(path: string): Promise<string>
}

export interface LockOptions {
  /** 0 to try once. */
  readonly waitMs: number
  readonly signal?: AbortSignal | undefined
  /** Where locks can be lost: called before one is granted that its holder did not release, to end that holder's late writes. */
  readonly onTakeover?: () => Promise<void>
  /** It saves work that would be done twice, and nothing else: what is written meanwhile is right without it too. */
  readonly advisory?: boolean
}

/** Locks between processes. */
export interface Locks {
  /** @returns undefined if others hold it for longer than `waitMs` */
  take(location: string, options: LockOptions): Promise<Lock | undefined>
  /** Location of the lock of a value: `file`, or the value itself where one write says both. */
  of(value: string, file: string): string
  /** Looks whether this process still holds what it has taken of an index. @throws conflict */
  check(dir: string): Promise<void>
}

/** Lists of entries, several in a folder, that are only ever added to. */
export interface Logs {
  /** Names of the lists that are kept, in their order. */
  names(folder: string): Promise<string[]>
  /** Begins a list; one that is there goes on. */
  begin(folder: string, name: string): Promise<void>
  /** Removes a list. */
  end(folder: string, name: string): Promise<void>
  /** Adds an entry, a JSON text on one line; durable when it returns. One whose answer was lost may be there twice. */
  append(folder: string, name: string, entry: string): Promise<void>
  /** Reads a list on: each call returns the entries that were added since the last. */
  reader(folder: string, name: string): () => Promise<string[]>
}

/** Files by which processes show that they live and are at something. */
export interface Marks {
  /** @returns takes it away. Best effort: where it cannot be kept, other processes do not see it */
  put(folder: string, name: string): Promise<() => Promise<void>>
  /** Names of the marks of living processes. Removes those of dead ones. */
  list(folder: string): Promise<string[]>
}
