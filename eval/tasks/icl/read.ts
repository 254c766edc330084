import { type ItemsFile, readItems } from '../../datasets/records.ts'

export interface Labelled {
  readonly id: string
  readonly text: string
  readonly label: string
}

/**
 * Reads labelled texts from CSV (with a header), TSV, JSON, JSON lines or Parquet; `_` in a label becomes a space.
 * @param names of the classes, if the file numbers them from 0
 * @throws dataset_invalid if no record has both fields, naming the existing fields
 */
export function readLabelled(
  file: string,
  { text: textField, label: labelField, names }: { text: string; label: string; names?: readonly string[] | undefined },
): Promise<ItemsFile<Labelled>> {
  const fields = new Set<string>()
  const wanted = () =>
    `no record with ${textField} and ${labelField} (its fields: ${[...fields].join(', ')}): name them with --text-field and --label-field.`
  return readItems(file, wanted, (value, at, problems) => {
    const record = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
    Object.keys(record).forEach((key) => fields.add(key))
    const [text, label] = [record[textField], record[labelField]]
    if (typeof text !== 'string' || text.trim() === '') return `no ${textField}`
    if ((typeof label !== 'string' && typeof label !== 'number') || String(label).trim() === '') return `no ${labelField}`
    if (names === undefined && typeof label === 'number')
      problems.add('label that is a number without a word (name the classes with --labels)', at, 'kept')
    const known = names === undefined ? String(label).trim() : wordOf(label, names)
    if (known === undefined) return `${labelField} that is none of the ${names?.length ?? 0} classes`
    return { id: at, text: text.trim(), label: known.trim().replaceAll('_', ' ') }
  })
}

/** Class names from the first file that has them; undefined if none does. */
export async function namesIn(files: readonly string[], field: string): Promise<readonly string[] | undefined> {
  // An unreadable file is reported when its records are read.
  const { classNames } = await import('../../datasets/parquet.ts')
  const told = await Promise.all(files.map((file) => classNames(file, field).catch(() => undefined)))
  return told.find((names) => names !== undefined)
}

/** The name of a class given by its number or name. */
function wordOf(label: string | number, names: readonly string[]): string | undefined {
  const word = String(label).trim()
  return /^\d+$/.test(word) ? names[Number(word)] : names.find((name) => name === word)
}
