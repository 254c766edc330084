import { createHash } from 'node:crypto'
import { open, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import type { WrittenFile } from './files.ts'
import type { Weight, WeightLocation } from './graph.ts'

/** Offsets of weights are multiples of this, so that a mapped file serves vector loads. */
const ALIGNMENT = 64

/**
 * One file of external data, shared by the graphs of a model. Weights are read, written and hashed one at a time: memory is that of the
 * largest one. A weight with a known key is not written again.
 */
export class DataFile {
  readonly #name: string
  readonly #file: FileHandle
  readonly #locations = new Map<string, WeightLocation>()
  readonly #hash = createHash('sha256')
  #end = 0

  private constructor(name: string, file: FileHandle) {
    this.#name = name
    this.#file = file
  }

  static async create(dir: string, name: string): Promise<DataFile> {
    return new DataFile(name, await open(join(dir, name), 'wx'))
  }

  async write(weight: Weight): Promise<WeightLocation> {
    const known = this.#locations.get(weight.key)
    if (known) return known
    await this.#append(new Uint8Array((ALIGNMENT - (this.#end % ALIGNMENT)) % ALIGNMENT))
    const offset = this.#end
    const bytes = await weight.read()
    await this.#append(bytes)
    const location = { file: this.#name, offset, bytes: bytes.length }
    this.#locations.set(weight.key, location)
    return location
  }

  /** Flushes to disk and closes. */
  async finish(): Promise<WrittenFile> {
    await this.#file.sync()
    await this.#file.close()
    return { name: this.#name, bytes: this.#end, sha256: this.#hash.digest('hex') }
  }

  /** Closes without flushing, for a cancelled build. */
  async abandon(): Promise<void> {
    await this.#file.close()
  }

  async #append(bytes: Uint8Array): Promise<void> {
    if (bytes.length === 0) return
    await this.#file.writeFile(bytes)
    this.#hash.update(bytes)
    this.#end += bytes.length
  }
}
