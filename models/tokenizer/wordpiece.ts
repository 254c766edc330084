import { invalid } from '../errors.ts'
import type { TokenizerConfig, TokenizerFiles } from './tokenizer-json.ts'

const FILE = 'vocab.txt'
const SPECIAL = { pad: '[PAD]', unknown: '[UNK]', cls: '[CLS]', sep: '[SEP]', mask: '[MASK]' } as const

function readVocabulary(text: string): ReadonlyMap<string, number> {
  const lines = text.split(/\r?\n/)
  if (lines.at(-1) === '') lines.pop()
  const ids = new Map<string, number>()
  lines.forEach((token, id) => {
    const other = ids.get(token)
    if (other !== undefined) throw invalid(`${FILE}: line ${id + 1} repeats the token ${JSON.stringify(token)} of line ${other + 1}`, FILE)
    ids.set(token, id)
  })
  for (const token of [SPECIAL.pad, SPECIAL.unknown, SPECIAL.cls, SPECIAL.sep]) {
    if (!ids.has(token)) throw invalid(`${FILE} lacks the token ${token}, so it is no BERT vocabulary`, FILE)
  }
  return ids
}

/**
 * Converts BERT's `vocab.txt` (one WordPiece token per line; the id is the line number from 0) to `tokenizer.json` and
 * `tokenizer_config.json`; with special tokens, a text becomes [CLS] text [SEP].
 * @param config tokenizer_config.json: by default text is in lower case without accents
 * @throws checkpoint_invalid if a token is repeated or a special token missing
 */
export function convertWordPiece(text: string, config: TokenizerConfig): TokenizerFiles {
  const { do_lower_case: lowers, strip_accents = null, tokenize_chinese_chars: chinese } = config
  const lowercase = lowers !== false
  const ids = readVocabulary(text)
  const special = Object.values(SPECIAL).flatMap((content) => {
    const id = ids.get(content)
    return id === undefined ? [] : [{ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true }]
  })
  const token = (id: string, type: number): object => ({ SpecialToken: { id, type_id: type } })
  const sequence = (id: string, type: number): object => ({ Sequence: { id, type_id: type } })
  const single = [token(SPECIAL.cls, 0), sequence('A', 0), token(SPECIAL.sep, 0)]
  const entry = (name: string): object => ({ id: name, ids: [ids.get(name)], tokens: [name] })
  const model = {
    type: 'WordPiece',
    unk_token: SPECIAL.unknown,
    continuing_subword_prefix: '##',
    max_input_chars_per_word: 100,
    vocab: Object.fromEntries(ids),
  }
  return {
    tokenizer: {
      added_tokens: special,
      normalizer: { type: 'BertNormalizer', clean_text: true, handle_chinese_chars: chinese !== false, strip_accents, lowercase },
      pre_tokenizer: { type: 'BertPreTokenizer' },
      post_processor: {
        type: 'TemplateProcessing',
        single,
        pair: [...single, sequence('B', 1), token(SPECIAL.sep, 1)],
        special_tokens: { [SPECIAL.cls]: entry(SPECIAL.cls), [SPECIAL.sep]: entry(SPECIAL.sep) },
      },
      decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
      model,
    },
    config: {
      do_lower_case: lowercase,
      cls_token: SPECIAL.cls,
      sep_token: SPECIAL.sep,
      pad_token: SPECIAL.pad,
      unk_token: SPECIAL.unknown,
    },
  }
}
