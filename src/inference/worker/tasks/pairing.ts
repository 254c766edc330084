import type { RerankerManifest } from '../../../../models/manifest.ts'
import { noTokenizer } from '../../../text/tokenizer.ts'

/** Input of a cross-encoder. */
export interface Pair {
  readonly ids: readonly number[]
  /** 0 for the query and its separators, otherwise the passage's type. */
  readonly types: readonly number[]
}

/**
 * Makes pairs of the ids of a query and a text, truncated to the window: the longer one first, as in transformers.
 * @throws model_invalid if the model was built without a tokenizer
 */
export function pairing({ tokens, dims }: Pick<RerankerManifest, 'tokens' | 'dims'>, modelDir: string) {
  const { cls_id: cls, sep_id: sep, separators, passage_type: type } = tokens
  if (cls === null || sep === null) throw noTokenizer(modelDir)
  const between = Array.from({ length: separators }, () => sep)
  const room = dims.window - separators - 2
  return (query: readonly number[], text: readonly number[]): Pair => {
    const kept = Math.min(query.length, Math.max(room - text.length, Math.ceil(room / 2)))
    const front = [cls, ...query.slice(0, kept), ...between]
    const back = [...text.slice(0, room - kept), sep]
    return { ids: [...front, ...back], types: [...front.map(() => 0), ...back.map(() => type)] }
  }
}
