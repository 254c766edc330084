import { isDeepStrictEqual } from 'node:util'
import { at, present } from '../../../base/at.ts'
import { type ItemsFile, readItems } from '../../datasets/records.ts'
import { askedInTurn, type PreparedTask, type ReaderClient, type SettingAnswer, type Task, type TaskItem } from '../../run/contract.ts'
import { invalidOption, taskData, type TaskOptions } from '../../run/options.ts'
import { optionSums, predictions, scoresOf } from '../icl/score.ts'

/** A choice: the text that is scored, and the prompt that it continues. */
interface Choice {
  readonly prompt: string
  readonly continuation: string
}
interface Item extends TaskItem {
  readonly choices: readonly Choice[]
  readonly right: number
}
type Field = (name: string) => string

function afterPrompt(prompt: string, texts: readonly string[]): Choice[] {
  return texts.map((text) => ({ prompt, continuation: text.trim() && ` ${text.trim()}` }))
}

/** Prompts of the benchmarks, by the fields of their published records; WinoGrande scores what follows the blank. */
const SETS: Readonly<Record<string, (field: Field, options: readonly string[]) => Pick<Item, 'choices' | 'right'>>> = {
  boolq: (field) => ({
    choices: afterPrompt(`${field('passage')}\nQuestion: ${field('question')}?\nAnswer:`, ['no', 'yes']),
    right: ['false', 'true'].indexOf(field('answer').toLowerCase()),
  }),
  piqa: (field) => ({
    choices: afterPrompt(`Question: ${field('goal')}\nAnswer:`, [field('sol1'), field('sol2')]),
    right: ['0', '1'].indexOf(field('label')),
  }),
  race: (field, options) => ({
    choices: afterPrompt(`Article: ${field('article')}\n\nQuestion: ${field('question')}\nAnswer:`, options),
    right: ['A', 'B', 'C', 'D'].indexOf(field('answer')),
  }),
  winogrande: (field) => {
    const [before = '', continuation = ''] = field('sentence').split('_')
    return {
      choices: [field('option1'), field('option2')].map((name) => ({ prompt: name && before + name, continuation })),
      right: ['1', '2'].indexOf(field('answer')),
    }
  },
}

/** Benchmarks by option scores: Table 5 of Position Interpolation. */
export const choices: Task = { ...taskData('choices'), needsData: true, prepare }

async function prepare(options: TaskOptions, client: ReaderClient): Promise<PreparedTask> {
  const name = options.word('set', Object.keys(SETS))
  const data = options.text('data')
  if (data === undefined) throw invalidOption(`--data is missing: the published file of ${name}.`)
  const read = await readChoices(data, name)
  const asked = read.items.slice(0, options.integer('items', 1))
  return {
    files: [read],
    problems: [],
    ...askedInTurn(asked, [{ name: 'decoder-only' }], (item, setting) => askItem(item, setting.name, client)),
  }
}

/** Reads a benchmark's records. @throws dataset_invalid */
function readChoices(file: string, name: string): Promise<ItemsFile<Item>> {
  return readItems(file, `no item of ${name}: wanted are the records as published, with answers.`, (value, at) => {
    const record = new Map(Object.entries(value ?? {}))
    const field: Field = (key) => String(record.get(key) ?? '')
    const listed: unknown = record.get('options')
    const item = present(SETS[name])(field, Array.isArray(listed) ? listed.map(String) : [])
    if (item.choices.length < 2 || item.choices.some(({ prompt, continuation }) => prompt === '' || continuation === ''))
      return 'no choices'
    if (item.right < 0 || item.right >= item.choices.length) return 'no answer'
    // Questions about one article of RACE.
    return { id: at, groups: {}, cluster: field('example_id') || at, ...item }
  })
}

async function askItem({ choices, right }: Item, setting: string, client: ReaderClient): Promise<SettingAnswer> {
  const started = performance.now()
  const encode = (text: string) => client.tokenizer.encode(text, { bos: true })
  const parts = choices.map(({ prompt, continuation }) => {
    const [before, whole] = [encode(prompt), encode(prompt + continuation)]
    const apart = before.findIndex((id, i) => id !== whole[i])
    const cut = apart === -1 ? before.length : apart
    return { promptIds: whole.slice(0, cut), ids: whole.slice(cut) }
  })
  const [first] = parts
  const alike = parts.every(({ promptIds }) => isDeepStrictEqual(promptIds, first?.promptIds))
  // One prompt is read once for all of its choices.
  const groups = alike ? [parts] : parts.map((part) => [part])
  const idsOf = (group: typeof parts) => group.map(({ ids }) => ids)
  const sumsOf = (promptIds: readonly number[], group: typeof parts) => optionSums(promptIds, [], idsOf(group), client)
  const sums: number[] = []
  for (const group of groups) sums.push(...(await sumsOf(at(group, 0).promptIds, group)))
  const calibration = await sumsOf(encode('Answer:'), parts)
  const chosen = predictions({ sums, calibration, lengths: choices.map(({ continuation }) => continuation.trim().length) })
  return {
    setting,
    scores: scoresOf(chosen, (index) => index === right),
    output: at(choices, chosen.sum).continuation,
    expected: [at(choices, right).continuation],
    asked: { decoder: parts.map(({ promptIds, ids }) => [...promptIds, ...ids]), encoder: [] },
    tokens: { decoder: groups.reduce((sum, group) => sum + at(group, 0).promptIds.length, 0), encoder: 0, generated: 0 },
    ms: performance.now() - started,
  }
}
