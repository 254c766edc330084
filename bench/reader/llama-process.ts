import { spawn } from 'node:child_process'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { Type, type Static, type TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { parseJson } from '../../base/json.ts'
import { packageRoot } from '../../src/package.ts'

const ReadySchema = Type.Object({ version: Type.String() })
const GeneratedSchema = Type.Object({
  ids: Type.Array(Type.Integer(), { description: 'Without the one that generation stopped at.' }),
  first_ms: Type.Number({ description: 'Until the first token.' }),
  ms: Type.Number({ description: 'Until the last token.' }),
})

interface LlamaOptions {
  /** A Python with llama-cpp-python, gguf and safetensors. */
  readonly python: string
  readonly gguf: string
  /** Folder of LoRA adapters in PEFT's layout; empty for none. */
  readonly adapter: string
  readonly threads: number
  /** Tokens of prompt and answer. */
  readonly window: number
}

export type Llama = Awaited<ReturnType<typeof startLlama>>

/**
 * Starts a llama.cpp subprocess (llama.py) that answers one request at a time.
 * @throws Error if Python does not start or lacks a package; its own message is on standard error
 */
export async function startLlama({ python, gguf, adapter, threads, window }: LlamaOptions) {
  const script = path.join(packageRoot(), 'bench/reader/llama.py')
  const child = spawn(python, [script, gguf, adapter, String(threads), String(window)], { stdio: ['pipe', 'pipe', 'inherit'] })
  const failed = new Promise<never>((_, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`${python} ended with exit code ${code}; its message stands above.`)))
  })
  failed.catch(() => undefined)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async <T extends TSchema>(schema: T): Promise<Static<T>> => {
    const line: IteratorResult<string, unknown> = await Promise.race([lines.next(), failed])
    return line.done === true ? failed : Value.Parse(schema, parseJson(line.value))
  }
  const { version } = await next(ReadySchema)
  return {
    /** Of llama-cpp-python. */
    version,
    /** Greedy; `stops` are ids that end the answer of at most `tokens` tokens. @throws Error if the process has ended */
    ask: (request: { readonly ids: readonly number[]; readonly stops: readonly number[]; readonly tokens: number }) => {
      child.stdin.write(`${JSON.stringify(request)}\n`)
      return next(GeneratedSchema)
    },
    stop: () => void child.stdin.end(),
  }
}
