import { isUtf8 } from 'node:buffer'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { invalidConfig, reasonOf } from '../../base/errors.ts'
import { readRegular } from '../../base/exists.ts'
import { halfPairIn, parseJson, repeatedName } from '../../base/json.ts'
import type { Demonstration } from '../text/prompt.ts'

const DemonstrationLine = Compile(
  Type.Object({
    question: Type.String({ minLength: 1 }),
    answer: Type.String({ minLength: 1 }),
    title: Type.Optional(Type.String()),
    text: Type.Optional(Type.String({ minLength: 1 })),
  }),
)

/** Reads worked examples: JSONL of {question, answer, title?, text?}. @throws config_invalid naming the file and the line */
export async function loadDemonstrations(file: string): Promise<Demonstration[]> {
  const invalid = (problem: string, cause?: unknown) =>
    invalidConfig('CEPE_DEMONSTRATIONS', `Demonstrations ${file}: ${problem}: set CEPE_DEMONSTRATIONS to another, or to nothing.`, cause)
  const content = await readRegular(file).catch((error: unknown) => {
    throw invalid(reasonOf(error), error)
  })
  if (!isUtf8(content)) throw invalid('it is not UTF-8')
  if (content.toString().trim() === '') throw invalid('it has no examples')
  return content
    .toString()
    .normalize()
    .split('\n')
    .flatMap((line, i) => {
      if (line.trim() === '') return []
      const value = parseJson(line)
      const twice = repeatedName(line)
      if (twice !== undefined) throw invalid(`line ${i + 1} has the name ${JSON.stringify(twice)} twice`)
      if (!DemonstrationLine.Check(value) || halfPairIn(value) !== undefined)
        throw invalid(`line ${i + 1} is not {"question", "answer", "title"?, "text"?}`)
      const { question, answer, title, text } = value
      return [{ question, answer, ...(text !== undefined && { passage: { title: title ?? '', text } }) }]
    })
}
