import { Type } from 'typebox'
import { present } from '../../base/at.ts'
import { readShipped } from '../datasets/shipped.ts'
import type { Metric } from './summary.ts'
import type { TaskOption } from './options.ts'

const Text = Type.String()
const OptionSchema = Type.Array(Text, {
  minItems: 2,
  maxItems: 4,
  description: 'Flags, description, default (empty for none), default with --small.',
})
const TasksSchema = Type.Object({
  shared: Type.Record(Text, Type.Array(OptionSchema), { description: 'Options of several tasks.' }),
  tasks: Type.Record(
    Text,
    Type.Object({
      version: Type.Integer({ description: 'Increased when the same options give other scores: earlier runs are rejected, never mixed.' }),
      title: Text,
      description: Text,
      options: Type.Array(Type.Union([OptionSchema, Text]), { description: 'A text is the name of shared options.' }),
      metrics: Type.Array(Type.Tuple([Text, Text, Type.Enum(['share', 'percent', 'mean', 'perplexity']), Type.Integer()]), {
        description: 'Key of the scores, label, aggregate, digits.',
      }),
      notes: Type.Array(Text, { description: 'How it was measured, for the report.' }),
      publishedTable: Type.Optional(Type.String({ description: "Number of the paper's table with published scores." })),
    }),
  ),
})
const { shared, tasks } = readShipped('eval/tasks.json', TasksSchema)

/** What eval/tasks.json says of a task: its texts, options and metrics. */
export function taskData(name: string) {
  const data = present(tasks[name])
  return {
    name,
    ...data,
    metrics: data.metrics.map(([key, label, aggregate, digits]): Metric => ({ name: key, label, aggregate, digits })),
    options: data.options
      .flatMap((row) => (typeof row === 'string' ? present(shared[row]) : [row]))
      .map(([flags = '', description = '', byDefault, small]): TaskOption => ({
        flags,
        description,
        byDefault: byDefault || undefined,
        small,
      })),
  }
}
