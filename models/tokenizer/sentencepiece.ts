import { invalid, unsupported } from '../errors.ts'
import { MODEL_TYPE, PIECE_TYPE, decodeSentencePiece, type SentencePieceModel } from './sentencepiece-model.ts'
import type { TokenizerFiles, TokenizerJson } from './tokenizer-json.ts'

/** SentencePiece's space inside pieces: U+2581. */
export const SPACE = '▁'

const BPE = {
  type: 'BPE',
  dropout: null,
  unk_token: null,
  continuing_subword_prefix: null,
  end_of_word_suffix: null,
  fuse_unk: false,
  byte_fallback: false,
  ignore_merges: false,
}

export function bpeModel(given: Pick<TokenizerJson['model'], 'vocab'> & Readonly<Record<string, unknown>>): TokenizerJson['model'] {
  return { ...BPE, ...given }
}

type Pieces = SentencePieceModel['pieces']

const MODEL_TYPE_NAMES = new Map<number, string>(Object.entries(MODEL_TYPE).map(([name, type]) => [type, name]))

function unconverted(file: string, what: string): Error {
  return unsupported(`${file} ${what}; convert it to tokenizer.json with huggingface/tokenizers and put it into the same folder`, file)
}

function checkSupported({ trainer_spec: trainer, normalizer_spec: normalizer }: SentencePieceModel, file: string): void {
  const refuse = (what: string): never => {
    throw unconverted(file, what)
  }
  if (trainer.model_type !== MODEL_TYPE.bpe) {
    refuse(
      `is a SentencePiece model of type ${MODEL_TYPE_NAMES.get(trainer.model_type) ?? String(trainer.model_type)}, only bpe is converted`,
    )
  }
  if (normalizer.precompiled_charsmap.length > 0) refuse(`normalises characters (${normalizer.name}), only identity is converted`)
  if (normalizer.remove_extra_whitespaces) refuse('removes extra whitespace (remove_extra_whitespaces), which is not converted')
  if (!normalizer.escape_whitespaces) refuse('keeps spaces unescaped (escape_whitespaces false), which is not converted')
  if (trainer.treat_whitespace_as_suffix) refuse('puts spaces behind words (treat_whitespace_as_suffix), which is not converted')
}

/**
 * Recovers BPE merges from piece scores. SentencePiece merges the neighbours whose joint piece scores highest; a tokenizer.json ranks pairs
 * instead. So every split of a piece into two pieces is a merge, ranked by the piece's score. Only normal pieces take part: text never
 * becomes a control or byte piece by merging.
 */
function recoverMerges(pieces: Pieces): [string, string][] {
  const normal = pieces.flatMap(({ piece, score, type }, id) => (type === PIECE_TYPE.normal ? { piece, score, id } : []))
  const ids = new Map(normal.map(({ piece, id }) => [piece, id]))
  const ranked = normal.sort((a, b) => b.score - a.score)
  return ranked.flatMap(({ piece }) => {
    const characters = [...piece]
    const splits = characters.slice(1).flatMap((_, i) => {
      const at = i + 1
      const pair: [string, string] = [characters.slice(0, at).join(''), characters.slice(at).join('')]
      const [left, right] = [ids.get(pair[0]), ids.get(pair[1])]
      return left === undefined || right === undefined ? [] : { pair, left, right }
    })
    return splits.sort((a, b) => a.left - b.left || a.right - b.right).map(({ pair }) => pair)
  })
}

function vocabularyOf(pieces: Pieces, file: string): Record<string, number> {
  const ids = new Map(pieces.map(({ piece }, id) => [piece, id]))
  if (ids.size !== pieces.length) throw invalid(`${file} holds ${pieces.length - ids.size} pieces twice`, file)
  return Object.fromEntries(ids)
}

/** Adds the beginning-of-sequence token if special tokens are requested, as LLaMA's own tokenizer does. */
export function postProcessorOf(bos: string, id: number): object {
  const start = { SpecialToken: { id: bos, type_id: 0 } }
  const first = { Sequence: { id: 'A', type_id: 0 } }
  return {
    type: 'TemplateProcessing',
    single: [start, first],
    pair: [start, first, { SpecialToken: { id: bos, type_id: 1 } }, { Sequence: { id: 'B', type_id: 1 } }],
    special_tokens: { [bos]: { id: bos, ids: [id], tokens: [bos] } },
  }
}

/**
 * Converts a SentencePiece BPE `tokenizer.model` (LLaMA) to `tokenizer.json` and `tokenizer_config.json`. As in SentencePiece, control
 * pieces (<s>, </s>) are never matched in text: `added_tokens` is empty, and decoding skips them through `additional_special_tokens`. With
 * special tokens, <s> is added before the text.
 * @throws checkpoint_invalid for damaged bytes; unsupported for a kind of model without conversion
 */
export function convertSentencePiece(bytes: Uint8Array, file = 'tokenizer.model'): TokenizerFiles {
  const model = decodeSentencePiece(bytes, file)
  for (const { piece, type } of model.pieces) {
    const kind = type === PIECE_TYPE.unused ? 'unused' : type === PIECE_TYPE.userDefined ? 'user-defined' : undefined
    if (kind !== undefined) throw unconverted(file, `holds the ${kind} piece ${JSON.stringify(piece)}, a kind that is not converted`)
  }
  return convertPieces(model, file)
}

/**
 * convertSentencePiece for a decoded model. Only normal pieces are merged: the caller has user-defined ones found in text, unused ones stand
 * for no text.
 * @param file its name in messages
 */
export function convertPieces(model: SentencePieceModel, file: string): TokenizerFiles {
  checkSupported(model, file)
  const { pieces, trainer_spec: trainer } = model
  const { add_dummy_prefix: hasPrefix } = model.normalizer_spec
  const unknown = pieces.find(({ type }) => type === PIECE_TYPE.unknown)?.piece ?? null
  const silent: readonly number[] = [PIECE_TYPE.control, PIECE_TYPE.unused]
  const control = pieces.filter(({ type }) => silent.includes(type)).map(({ piece }) => piece)
  const bosId = pieces.findIndex(({ piece, type }) => piece === '<s>' && type === PIECE_TYPE.control)
  return {
    tokenizer: {
      added_tokens: [],
      normalizer: {
        type: 'Sequence',
        normalizers: [
          ...(hasPrefix ? [{ type: 'Prepend', prepend: SPACE }] : []),
          { type: 'Replace', pattern: { String: ' ' }, content: SPACE },
        ],
      },
      pre_tokenizer: null,
      post_processor: bosId < 0 ? null : postProcessorOf('<s>', bosId),
      decoder: {
        type: 'Sequence',
        decoders: [
          { type: 'Replace', pattern: { String: SPACE }, content: ' ' },
          { type: 'ByteFallback' },
          { type: 'Fuse' },
          ...(hasPrefix ? [{ type: 'Strip', content: ' ', start: 1, stop: 0 }] : []),
        ],
      },
      model: bpeModel({
        unk_token: unknown,
        fuse_unk: true,
        byte_fallback: trainer.byte_fallback,
        vocab: vocabularyOf(pieces, file),
        merges: recoverMerges(pieces),
      }),
    },
    config: {
      add_bos_token: bosId >= 0,
      clean_up_tokenization_spaces: false,
      additional_special_tokens: unknown === null ? control : [unknown, ...control],
      ...(unknown !== null && { unk_token: unknown }),
    },
  }
}
