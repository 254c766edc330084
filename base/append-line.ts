import type { FileHandle } from 'node:fs/promises'

const NEWLINE = 10

/**
 * Appends a line to a file of lines, opened with `a+`; durable when it resolves. If it cannot be written completely, on a full disk for
 * instance, the part of it is removed. A part that a killed process left is ended first, so that it does not spoil this line.
 */
export async function appendLine(file: FileHandle, line: string): Promise<void> {
  const { size } = await file.stat()
  const { buffer: last } = await file.read(Buffer.alloc(1), 0, 1, Math.max(0, size - 1))
  const bytes = Buffer.from(`${size === 0 || last[0] === NEWLINE ? '' : '\n'}${line}\n`)
  let written = 0
  try {
    while (written < bytes.length) written += (await file.write(bytes, written)).bytesWritten
    await file.datasync()
  } catch (error) {
    // Unless another process has appended since.
    if ((await file.stat()).size === size + written) await file.truncate(size)
    throw error
  }
}
