import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { root } from './root.ts'
import { SKIPS } from './skips.ts'

/** A Python with PyTorch, safetensors and tokenizers. */
const python = process.env['TEST_TORCH_PYTHON'] ?? 'python3'
const run = promisify(execFile)
const env = { ...process.env, OMP_NUM_THREADS: '1' }

/** Runs files of the repository one after the other in one process: loading PyTorch takes longer than a small task. */
const ONE_BY_ONE = `
import json, os, runpy, sys
for file, args in json.loads(sys.argv[1]):
    sys.path.insert(0, os.path.dirname(file))
    sys.argv = [file, *args]
    runpy.run_path(file, run_name="__main__")
`

/** A Python file of the repository with its arguments. */
export type Program = readonly [file: string, ...args: string[]]

export function pythonCommand(programs: readonly Program[]): [string, string[]] {
  return [python, ['-c', ONE_BY_ONE, JSON.stringify(programs.map(([file, ...args]) => [path.join(root, file), args]))]]
}

/** What they print. @throws with the error output unless they end well */
export async function runPython(...programs: readonly Program[]): Promise<string> {
  return (await run(...pythonCommand(programs), { env })).stdout
}

/** Why training cannot be tested here, or false. */
export async function withoutTorch(): Promise<string | false> {
  return run(python, ['-c', 'import torch, safetensors, tokenizers, numpy'], { env }).then(
    () => false,
    () => `${SKIPS.torch}: TEST_TORCH_PYTHON names a Python that has it`,
  )
}
