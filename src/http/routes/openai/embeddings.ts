import { CodedError } from '../../../../base/errors.ts'
import { OPENAI_LIMITS, type EmbeddingsRequest } from './schema.ts'

/**
 * Returns the texts of an embeddings request.
 * @throws invalid_request for an invalid `input`
 */
export function textsOf(input: EmbeddingsRequest['input']): string[] {
  const refuse = (problem: string) => new CodedError('invalid_request', problem, { field: 'input' })
  const items: unknown[] = Array.isArray(input) ? input : [input]
  if (items.length === 0 || items.length > OPENAI_LIMITS.inputs)
    throw refuse(`input has ${items.length} texts; send 1 to ${OPENAI_LIMITS.inputs} at a time.`)
  return items.map((item, i) => {
    const name = Array.isArray(input) ? `input.${i}` : 'input'
    if (typeof item === 'number' || (Array.isArray(item) && item.every((id) => typeof id === 'number')))
      throw refuse(
        `${name} holds token ids, which belong to another model's tokenizer: send text (in LangChain: check_embedding_ctx_length=False).`,
      )
    if (typeof item !== 'string') throw refuse(`${name} must be a text.`)
    if (item === '') throw refuse(`${name} is empty.`)
    if (item.length > OPENAI_LIMITS.inputCharacters)
      throw refuse(`${name} has ${item.length} characters; the most is ${OPENAI_LIMITS.inputCharacters}.`)
    return item
  })
}

/** Encodes a vector in the requested format. */
export function encodeVector(vector: Float32Array, format: 'float' | 'base64'): number[] | string {
  if (format === 'float') return Array.from(vector)
  const bytes = Buffer.alloc(vector.length * 4)
  vector.forEach((value, i) => bytes.writeFloatLE(value, i * 4))
  return bytes.toString('base64')
}
