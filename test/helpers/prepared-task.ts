import type { ReaderClient } from '../../eval/client/reader.ts'
import type { Task } from '../../eval/run/contract.ts'
import { taskOptions } from '../../eval/run/options.ts'

/** A client without a model or encoder: every character is a token, and every prompt is continued by `output`. */
export function spellingClient(output = ''): ReaderClient {
  const encode = (text: string): number[] => Array.from(text, (letter) => letter.codePointAt(0) ?? 0)
  return {
    manifest: {
      dims: { window: 1_000_000, encoder_window: 0 },
      graphs: { encoder: null },
      tokens: { bos_id: null, eos_ids: [0] },
    },
    tokenizer: { encode, decode: (ids: readonly number[]) => String.fromCodePoint(...ids), stopIds: () => [0] },
    reader: { generate: () => Promise.resolve({ tokenIds: encode(output) }) },
  } as unknown as ReaderClient
}

/** A task's items with these options, and all problems of its data. @throws as the task's `prepare` */
export async function preparedItems<Item>(task: Task, options: Readonly<Record<string, string>>, client = spellingClient()) {
  const prepared = await task.prepare(taskOptions(task, options), client)
  return {
    items: prepared.items as ((typeof prepared.items)[number] & Item)[],
    problems: [...prepared.files.flatMap((file) => file.problems ?? []), ...prepared.problems],
  }
}
