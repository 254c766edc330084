import type { ReaderClient } from '../client/reader.ts'
import type { Problem, ReadFile } from '../datasets/question-set.ts'
import type { Block, Figure } from '../report/blocks.ts'
import type { Stored } from './folder.ts'
import type { taskData, TaskOptions } from './options.ts'
import type { SettingResult, TaskManifest, TaskRecord } from './record.ts'
import type { DerivedMetric, TaskSummary } from './summary.ts'

export type { ReaderClient, TaskSummary }

/** An item that is asked in every setting. */
export interface TaskItem {
  readonly id: string
  /** Values by which scores are broken down. */
  readonly groups: Readonly<Record<string, string>>
  /** The question, item or document shared with other items. */
  readonly cluster?: string
}

/** Token ids as given to the reader: decoder prompts, including scored tokens, and contexts. */
export interface AskedIds {
  readonly decoder: readonly (readonly number[])[]
  readonly encoder: readonly (readonly number[])[]
}

/** Result of one item in one setting, with its input. */
export type SettingAnswer = Omit<SettingResult, 'prompt_sha256' | 'prompts'> & { readonly asked: AskedIds }

/** An item of a prepared task. */
interface PreparedItem extends TaskItem {
  /** Asks it in every setting. @throws CodedError invalid_request or unprocessable if it cannot be asked: it is skipped */
  readonly ask: () => Promise<readonly SettingAnswer[]>
}

/** A prepared task: its items, and how each is asked. */
export interface PreparedTask {
  /** Settings, in the order of the report's rows. */
  readonly settings: readonly string[]
  readonly items: readonly PreparedItem[]
  readonly files: readonly ReadFile[]
  /** Skipped items, and items kept with a change, besides the problems of the files. */
  readonly problems: readonly Problem[]
}

/** Items that are asked in one setting after another; no answer: the item has no score in that setting. */
export function askedInTurn<Item extends TaskItem, Setting extends { readonly name: string }>(
  items: readonly Item[],
  settings: readonly Setting[],
  ask: (item: Item, setting: Setting) => Promise<SettingAnswer | undefined>,
): Pick<PreparedTask, 'items' | 'settings'> {
  const inTurn = async (item: Item): Promise<SettingAnswer[]> => {
    const results: SettingAnswer[] = []
    for (const setting of settings) results.push(...[(await ask(item, setting)) ?? []].flat())
    return results
  }
  return { items: items.map((item) => ({ ...item, ask: () => inTurn(item) })), settings: settings.map(({ name }) => name) }
}

/** A task as its reports and comparisons know it. */
export interface Evaluation extends Omit<ReturnType<typeof taskData>, 'options'> {
  readonly derived?: readonly DerivedMetric[]
  /** Figures and tables of the report besides the table of settings. */
  readonly figures?: (summary: TaskSummary) => readonly Figure[]
  readonly tables?: (summary: TaskSummary) => readonly Block[]
  /** Plural noun for the items, and digits of their scores, in comparisons. */
  readonly compared?: { readonly what: string; readonly digits: number }
}

/**
 * A task that asks the reader with token ids: a reader of its data, a builder of its requests, its metrics. Runs, resuming, manifests,
 * reports and comparisons belong to the runner. Its name is that of its command.
 */
export interface Task extends Evaluation, Pick<ReturnType<typeof taskData>, 'options'> {
  /** Needs no data, and so has no small run. */
  readonly needsData?: boolean
  /** @throws options_invalid, dataset_invalid */
  prepare(options: TaskOptions, client: ReaderClient): Promise<PreparedTask>
}

export interface TaskRun extends Stored<TaskManifest, TaskRecord> {
  readonly task: Evaluation
  /** Seed of bootstrap intervals. */
  readonly seed: number
}
