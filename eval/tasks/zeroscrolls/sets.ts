import { type Static, Type } from 'typebox'
import { readShipped } from '../../datasets/shipped.ts'

const SetSchema = Type.Object({
  kind: Type.String({ description: 'Noun for the document.' }),
  instruction: Type.String({ description: "As in the published evaluation; GovReport's is worded and spaced unlike the others." }),
  query: Type.Union([Type.Enum(['question', 'choices', 'query']), Type.Null()], { description: 'Kind of query besides the document.' }),
  metric: Type.Enum(['f1', 'rouge_l', 'accuracy']),
  maxNewTokens: Type.Integer(),
  minNewTokens: Type.Integer(),
  stopAtLineEnd: Type.Boolean({ description: 'A line end ends short answers, but not summaries.' }),
  sampling: Type.Boolean(),
  eachRow: Type.Optional(
    Type.Boolean({ description: 'Rows of one id are scored separately; otherwise they are references of one question.' }),
  ),
})
export type ScrollsSet = Static<typeof SetSchema>

/** The data sets by name, with their prompts. */
export function scrollsSets(): Readonly<Record<string, ScrollsSet>> {
  return readShipped('eval/tasks/zeroscrolls/sets.json', Type.Record(Type.String(), SetSchema))
}

export function documentHead({ kind }: ScrollsSet): string {
  return `${kind}:\n`
}

/** Text after the document: a blank line (or the truncation notice of a decoder alone), the instruction, the query. */
export function questionText({ instruction, query, kind }: ScrollsSet, asked: string, omitted: boolean): string {
  const join = omitted ? `... [The rest of the ${kind.toLowerCase()} is omitted]\n\n` : '\n\n'
  const questions = {
    question: `Question:\n${asked}\n\nAnswer:\n`,
    choices: `Question and Possible Answers:\n${asked}\n\nAnswer:`,
    query: `Query:\n${asked}\n\nAnswer:\n`,
  }
  return `${join}${instruction}${query === null ? 'Summary:\n' : questions[query]}`
}
