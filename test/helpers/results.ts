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

export interface Failed {
  readonly file: string
  readonly name: string
  /** What the assert says of itself: expected and actual, place and stack. */
  readonly details: string
}

const FAIL = /^( *)not ok \d+ - (.*)$/
const LONGEST = 40

/** The asserts that failed in a file's output (TAP): not the tests around them, which say no more. */
export function failedIn(file: string, output: string): Failed[] {
  const lines = output.split('\n')
  return lines.flatMap((line, number) => {
    const [, indent = '', name] = FAIL.exec(line) ?? []
    if (name === undefined || TIMED.test(name) || / # (TODO|SKIP)\b/i.test(name)) return []
    const end = lines.indexOf(`${indent}  ...`, number)
    return [{ file, name, details: lines.slice(number + 2, Math.min(end, number + 2 + LONGEST)).join('\n') }]
  })
}
