import { open, type FileHandle } from 'node:fs/promises'

const BUFFER_BYTES = 256 * 1024

/** A file of lines, created at the first line and durable once closed. After a failed write every call throws that error immediately. */
export class LineFile {
  readonly #path: string
  #file: FileHandle | undefined
  #waiting: string[] = []
  #bytes = 0
  #failed: Error | undefined

  constructor(path: string) {
    this.#path = path
  }

  async write(line: string): Promise<void> {
    if (this.#failed !== undefined) throw this.#failed
    this.#waiting.push(`${line}\n`)
    this.#bytes += line.length
    if (this.#bytes >= BUFFER_BYTES) await this.#flush()
  }

  async close(): Promise<void> {
    try {
      if (this.#failed !== undefined) throw this.#failed
      await this.#flush()
      await this.#file?.sync()
    } finally {
      await this.#file?.close()
      this.#file = undefined
    }
  }

  async #flush(): Promise<void> {
    const text = this.#waiting.join('')
    this.#waiting = []
    this.#bytes = 0
    if (text === '') return
    try {
      this.#file ??= await open(this.#path, 'w')
      await this.#file.writeFile(text)
    } catch (error) {
      this.#failed = error instanceof Error ? error : new Error(String(error))
      throw error
    }
  }
}
