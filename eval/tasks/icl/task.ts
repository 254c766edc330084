import { at, present } from '../../../base/at.ts'
import { CodedError } from '../../../base/errors.ts'
import { isObject } from '../../../base/json.ts'
import { sampleIndices, seededRandom } from '../../../base/random.ts'
import { ProblemLog, spread } from '../../datasets/question-set.ts'
import { questionFile } from '../../datasets/shipped.ts'
import { invalidDataset, type ItemsFile, readItems } from '../../datasets/records.ts'
import { taskData, type TaskOptions } from '../../run/options.ts'
import { askedInTurn, type PreparedTask, type ReaderClient, type Task, type TaskItem } from '../../run/contract.ts'
import { optionSums, predictions, scoresOf } from './score.ts'

interface Labelled {
  readonly id: string
  readonly text: string
  readonly label: string
}

interface Asked extends TaskItem {
  readonly test: Labelled
  readonly seed: number
}

/** In-context classification with demonstrations in the encoder: Table 3 of the paper. */
export const icl: Task = { ...taskData('icl'), prepare }

async function prepare(options: TaskOptions, client: ReaderClient): Promise<PreparedTask> {
  const [testFile, trainFile] = [options.text('test') ?? questionFile('test.jsonl'), options.text('train') ?? questionFile('train.jsonl')]
  const label = present(options.text('labelField'))
  const named = options.text('labels')?.split(',')
  const names = named?.map((name) => name.trim()) ?? (await namesIn([trainFile, testFile], label))
  const fields = { text: present(options.text('textField')), label, names }
  const test = await readLabelled(testFile, fields)
  const train = await readLabelled(trainFile, fields)
  const problems = new ProblemLog()
  const labels = [...new Set(train.items.map(({ label }) => label))].sort()
  if (labels.length < 2) throw invalidDataset(`${trainFile} has ${labels.length} label: two are needed to choose from.`)
  const tested = new Set(test.items.map(({ text }) => text))
  const pool = train.items.filter(({ id, text }) => {
    if (tested.has(text)) problems.add('training example that is a test item', id)
    return !tested.has(text)
  })
  const known = test.items.filter(({ id, label }) => {
    if (!labels.includes(label)) problems.add('label that the training file does not have', id)
    return labels.includes(label)
  })
  const most = options.integer('items', 1)
  const asked = options.text('test') === undefined ? spread(known, most) : known.slice(0, most)
  const items = options
    .integers('seeds')
    .flatMap((seed) => asked.map((test): Asked => ({ id: `${seed}: ${test.id}`, groups: {}, cluster: test.id, test, seed })))
  const { tokenizer, manifest } = client
  const { bos_id: bosId } = manifest.tokens
  const optionIds = labels.map((label) => tokenizer.encode(` ${label}`))
  // Log-probabilities without a question.
  const calibration = bosId === null ? labels.map(() => 0) : await optionSums([bosId], [], optionIds, client)
  const [textName, labelName] = [present(options.text('textName')), present(options.text('labelName'))]
  const contextTokens = Math.min(options.integer('contextTokens', 1), manifest.dims.encoder_window)
  const render = ({ text, label }: Labelled): string => `${textName}: ${text}\n${labelName}: ${label}`
  return {
    ...askedInTurn(items, settingsOf(options), async ({ test, seed }, { name, decoder, encoder }) => {
      const drawn = balancedDemonstrations(pool, labels, decoder + encoder, { seed, item: test.id })
      const prompt = [...drawn.slice(0, decoder).map(render), `${textName}: ${test.text}\n${labelName}:`].join('\n\n')
      const promptIds = tokenizer.encode(prompt, { bos: true })
      const contextIds = drawn.slice(decoder).map((demonstration) => tokenizer.encode(render(demonstration)).slice(-contextTokens))
      const started = performance.now()
      const sums = await optionSums(promptIds, contextIds, optionIds, client)
      const chosen = predictions({ sums, calibration, lengths: optionIds.map((ids) => ids.length) })
      return {
        setting: name,
        scores: scoresOf(chosen, (index) => at(labels, index) === test.label),
        output: at(labels, chosen.sum),
        expected: [test.label],
        demonstrations: drawn.map(({ id }) => id),
        asked: { decoder: [promptIds], encoder: contextIds },
        tokens: { decoder: promptIds.length, encoder: contextIds.flat().length, generated: 0 },
        ms: performance.now() - started,
      }
    }),
    files: [test, train],
    problems: problems.list(),
  }
}

/** Demonstrations of each setting by side of the reader. */
function settingsOf(options: TaskOptions) {
  const [decoder, oracle] = [options.integer('decoderShots'), options.integer('oracle')]
  return [
    ...options.integers('encoderShots').map((encoder) => ({ name: `${decoder} + ${encoder} in the encoder`, decoder, encoder })),
    ...(oracle > 0 ? [{ name: `${oracle} in the decoder`, decoder: oracle, encoder: 0 }] : []),
  ]
}

/**
 * Demonstrations of one test item, balanced over the classes that have any: concatenated sets with one of each in random order, truncated to
 * `count`. They are distinct within a class, unless it has too few. Depends on seed and item only. @throws unprocessable if there is none
 */
function balancedDemonstrations(
  pool: readonly Labelled[],
  labels: readonly string[],
  count: number,
  { seed, item }: { readonly seed: number; readonly item: string },
): Labelled[] {
  const random = seededRandom('icl', seed, item)
  const classes = labels.map((label) => pool.filter((example) => example.label === label && example.id !== item))
  const left = classes.filter((examples) => examples.length > 0)
  if (left.length === 0 && count > 0) throw new CodedError('unprocessable', 'No training example is left: all are test items.')
  const sets = Math.ceil(count / left.length)
  const byClass = left.map((examples) => {
    const drawn = sampleIndices(examples.length, sets, random).map((i) => at(examples, i))
    while (drawn.length < sets) drawn.push(at(examples, Math.floor(random() * examples.length)))
    return drawn
  })
  const ordered = Array.from({ length: sets }, (_, i) =>
    sampleIndices(byClass.length, byClass.length, random).map((c) => at(at(byClass, c), i)),
  )
  return ordered.flat().slice(0, count)
}

/**
 * Reads labelled texts from CSV (with a header), TSV, JSON, JSON lines or Parquet; `_` in a label becomes a space.
 * @param names of the classes, if the file numbers them from 0
 * @throws dataset_invalid if no record has both fields, naming the existing fields
 */
function readLabelled(
  file: string,
  { text: textField, label: labelField, names }: { text: string; label: string; names?: readonly string[] | undefined },
): Promise<ItemsFile<Labelled>> {
  const fields = new Set<string>()
  const wanted = () =>
    `no record with ${textField} and ${labelField} (its fields: ${[...fields].join(', ')}): name them with --text-field and --label-field.`
  return readItems(file, wanted, (value, at, problems) => {
    const record = isObject(value) ? value : {}
    Object.keys(record).forEach((key) => fields.add(key))
    const [text, label] = [record[textField], record[labelField]]
    if (typeof text !== 'string' || text.trim() === '') return `no ${textField}`
    if ((typeof label !== 'string' && typeof label !== 'number') || String(label).trim() === '') return `no ${labelField}`
    if (names === undefined && typeof label === 'number')
      problems.add('label that is a number without a word (name the classes with --labels)', at, 'kept')
    const word = String(label).trim()
    const known = names === undefined ? word : /^\d+$/.test(word) ? names[Number(word)] : names.find((name) => name === word)
    if (known === undefined) return `${labelField} that is none of the ${names?.length ?? 0} classes`
    return { id: at, text: text.trim(), label: known.trim().replaceAll('_', ' ') }
  })
}

/** Class names from the first file that has them; undefined if none does. */
async function namesIn(files: readonly string[], field: string): Promise<readonly string[] | undefined> {
  // An unreadable file is reported when its records are read.
  const { classNames } = await import('../../datasets/parquet.ts')
  return (await Promise.all(files.map((file) => classNames(file, field).catch(() => undefined)))).find((names) => names !== undefined)
}
