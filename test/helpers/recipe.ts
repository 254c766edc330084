import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { root } from './root.ts'
import { SKIPS } from './skips.ts'

/** A Python with PyTorch, safetensors and tokenizers. */
const python = process.env['TEST_TORCH_PYTHON'] ?? 'python3'
const run = promisify(execFile)
const env = { ...process.env, OMP_NUM_THREADS: '1' }

/** The command of a program in models/recipe. */
export function recipe(file: string, args: readonly string[]): [string, string[]] {
  return [python, [path.join(root, 'models/recipe', file), ...args]]
}

/** What it prints. @throws with its error output unless it ends well */
export async function runRecipe(file: string, args: readonly string[]): Promise<string> {
  return (await run(...recipe(file, args), { env })).stdout
}

/** Why training cannot be tested here, or false. */
export async function withoutTorch(): Promise<string | false> {
  return run(python, ['-c', 'import torch, safetensors, tokenizers, numpy'], { env }).then(
    () => false,
    () => `${SKIPS.torch}: TEST_TORCH_PYTHON names a Python that has it`,
  )
}
