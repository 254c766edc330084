import { DEFAULT_DRAIN_MS } from '../inference/pool/contract.ts'

export interface Part {
  /** Finishes accepted work for up to `drainMs`. */
  close(options: { readonly drainMs: number }): unknown
}

/** The parts of a whole, from the ground up. They are closed in reverse, also if a later one fails to start. */
export class Parts {
  readonly #parts: Part[] = []
  #closed: Promise<void> | undefined

  /** Registers a part as soon as it is started. @returns the part */
  add<One extends Part | undefined>(part: One): One {
    if (part !== undefined) this.#parts.push(part)
    return part
  }

  /**
   * Closes all parts once, within one time limit (default 30 s). An error does not prevent closing the others.
   * @throws the first error, after all have been closed
   */
  close({ drainMs = DEFAULT_DRAIN_MS }: Partial<Parameters<Part['close']>[0]> = {}): Promise<void> {
    return (this.#closed ??= this.#close(performance.now() + drainMs))
  }

  async #close(until: number): Promise<void> {
    const errors: unknown[] = []
    for (const part of this.#parts.reverse()) {
      try {
        await part.close({ drainMs: Math.max(0, until - performance.now()) })
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length > 0) throw errors[0]
  }
}

/** Starts a whole. If a part fails to start, those started before it are closed at once and its error is thrown. */
export async function withParts<Whole>(start: (parts: Parts) => Promise<Whole>): Promise<Whole> {
  const parts = new Parts()
  try {
    return await start(parts)
  } catch (error) {
    // The first error is the cause; one of closing would hide it.
    await parts.close({ drainMs: 0 }).catch(() => undefined)
    throw error
  }
}
