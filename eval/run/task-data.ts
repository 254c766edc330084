import { Type, type Static } from 'typebox'
import { present } from '../../base/at.ts'
import { readShipped } from '../datasets/shipped.ts'
import { TaskOptionSchema } from './options.ts'

const Text = Type.String()
const MetricSchema = Type.Object({
  name: Type.String({ description: "Key of a result's scores." }),
  label: Text,
  aggregate: Type.Enum(['share', 'percent', 'mean', 'perplexity'], {
    description: 'share: mean of scores from 0 to 1; percent: that times 100. perplexity: exp of the mean of losses.',
  }),
  digits: Type.Integer(),
})
/** How scores of a metric are aggregated. */
export type Metric = Static<typeof MetricSchema>

const TasksSchema = Type.Object({
  shared: Type.Record(Text, Type.Array(TaskOptionSchema), { description: 'Options of several tasks.' }),
  tasks: Type.Record(
    Text,
    Type.Object({
      version: Type.Integer({ description: 'Increased when the same options give other scores: earlier runs are rejected, never mixed.' }),
      title: Text,
      description: Text,
      options: Type.Array(Type.Union([TaskOptionSchema, Text]), { description: 'A text is the name of shared options.' }),
      metrics: Type.Array(MetricSchema),
      notes: Type.Array(Text, { description: 'How it was measured, for the report.' }),
      publishedTable: Type.Optional(Type.String({ description: "Number of the paper's table with published scores." })),
    }),
  ),
})
const { shared, tasks } = readShipped('eval/tasks.json', TasksSchema)

/** What eval/tasks.json says of a task: its texts, options and metrics. */
export function taskData(name: string) {
  const data = present(tasks[name])
  return { name, ...data, options: data.options.flatMap((option) => (typeof option === 'string' ? present(shared[option]) : option)) }
}
