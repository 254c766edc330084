export interface Skipped {
  readonly file: string
  readonly name: string
  /** Empty where none is given. */
  readonly reason: string
}

const SKIP = /^\s*ok \d+ - (.*?) # SKIP(?: (.*))?$/i
const TIMED = /\s*# time=[\d.]+m?s$/

/** The tests that a file's output (TAP) says were left out, those within others too. */
export function skippedIn(file: string, output: string): Skipped[] {
  return output.split('\n').flatMap((line) => {
    const [, name, reason = ''] = SKIP.exec(line) ?? []
    return name === undefined ? [] : [{ file, name, reason: reason.replace(TIMED, '').trim() }]
  })
}
