import { Value } from 'typebox/value'
import { messageOf, orThrow } from '../../base/errors.ts'
import { isObject } from '../../base/json.ts'
import { invalid } from '../errors.ts'
import { openTokenizer } from './codec.ts'
import { TokenizerJsonSchema, type TokenizerConfig, type TokenizerJson } from './tokenizer-json.ts'

/** Model types supported by the package. */
const KINDS = ['BPE', 'WordPiece', 'Unigram']

/**
 * Validates a `tokenizer.json` by opening it.
 * @param json the file's value
 * @throws checkpoint_invalid naming the file, the kind of tokenizer, the problem and the remedy
 */
export function checkedTokenizer(json: unknown, config: TokenizerConfig, path: string): TokenizerJson {
  if (!Value.Check(TokenizerJsonSchema, json)) {
    const [first] = Value.Errors(TokenizerJsonSchema, json)
    throw unread(path, json, `${first?.instancePath.slice(1).replaceAll('/', '.') || 'the whole'} ${first?.message}`)
  }
  const problem = modelProblem(json.model)
  if (problem !== undefined) throw unread(path, json, problem)
  orThrow(
    () => openTokenizer({ tokenizer: json, config }),
    (thrown) => unread(path, json, messageOf(thrown)),
  )
  return json
}

function unread(path: string, json: unknown, problem: string): Error {
  const message = `${path} is no tokenizer that can be used (${kindOf(json)}): ${problem}. Take the file from the checkpoint again, or save it again with huggingface/tokenizers, as one of ${KINDS.join(', ')}.`
  return invalid(message, path)
}

function kindOf(json: unknown): string {
  const { model } = Object(json) as { model?: unknown }
  if (!isObject(model)) return 'it has no model'
  return typeof model['type'] === 'string' ? `its model is of the type ${model['type'].slice(0, 40)}` : 'its model names no type'
}

/** Problems on which the package would fail with an internal error. */
function modelProblem(model: Readonly<Record<string, unknown>>): string | undefined {
  const { type, vocab, merges, unk_id: unknown } = model
  if (type === 'BPE' && !Array.isArray(merges)) return 'model.merges is missing'
  if (type !== 'Unigram') return undefined
  if (!Array.isArray(vocab)) return 'model.vocab must be a list of [token, score]'
  return typeof unknown === 'number' && unknown in vocab ? undefined : 'model.unk_id must be the index of a token in model.vocab'
}
