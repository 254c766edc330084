/**
 * Compares the words, pages and links of a folder of documents with those of their passages, by kind: `fidelity.py` reads the files by other
 * programs (Python 3, pdftotext, pandoc, antiword). `fetch.sh` downloads a folder of documents of other people's tools.
 * Usage: fidelity.js --folder FOLDER [--sample 60 --seed 1]: prints the figures, and that many random passages
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { messageOf } from '../../base/errors.ts'
import { createPassageReader } from '../../src/documents/corpus/reader.ts'
import { benchOptions } from '../arguments.ts'

const options = benchOptions({ folder: '', sample: '0', seed: '1' })
const folder = options.text('folder')
const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile())
const args = ['bench/documents/fidelity.py', folder, options.text('sample'), options.text('seed')]
const compare = spawn('python3', args, { stdio: ['pipe', 'inherit', 'inherit'] })
const reader = createPassageReader({ parseMs: 120_000 })
const { signal } = new AbortController()
for (const file of files.map(({ parentPath, name }) => path.join(parentPath, name)).sort()) {
  const start = performance.now()
  const read = await reader
    .read({ bytes: await readFile(file), name: path.basename(file) }, { words: 100, signal })
    .catch((error: unknown) => ({ error: messageOf(error) }))
  compare.stdin.write(`${JSON.stringify({ file: path.relative(folder, file), ms: performance.now() - start, ...read })}\n`)
}
reader.close()
compare.stdin.end()
const [code] = await once(compare, 'close')
process.exitCode = Number(code)
