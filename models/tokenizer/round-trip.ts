import { invalid } from '../errors.ts'
import { openTokenizer } from './codec.ts'
import { tokenId, type TokenizerFiles, type TokenizerJson } from './tokenizer-json.ts'

/** Texts that a decoder must give back, by what they try. */
const TEXTS: Readonly<Record<string, readonly string[]>> = {
  'line breaks': ['a\nb', 'a\n\nb', 'one\n\n\n\ntwo', 'a \n b', 'a\r\nb', 'Question: who?\nAnswer:', 'end\n'],
  'runs of spaces': ['x  y', 'x   y', 'x    y', `x${' '.repeat(16)}y`, `x${' '.repeat(33)}y`, '  x', ' x'],
  tabs: ['a\tb', 'a\t\tb', '\ta'],
  tags: ['<b>bold</b> <i>x</i>', '<table><tr><td>1</td></tr></table>', '<h1>Title</h1>\n<p>text</p>', '[link](a) <br>'],
  code: ['if (a != b) {\n    return "x" + 1;\n}', 'def f(x):\n\treturn x ** 2  # twice', "it's 100% $5.00 & more; a@b.c/#~^|`"],
  numbers: ['1,234.50', '2026-11-26', '0x1F 1e-5', '½ ² ①'],
  emoji: ['😀', '👩‍👩‍👧‍👦 🇦🇹', 'a❤️b'],
  scripts: ['Ünïcödé façade', 'Ελληνικά', 'Русский язык', 'עברית', 'العربية', 'हिन्दी', 'ไทย', '中文字符', '日本語カナ', '한국어'],
  'combining marks': ['e\u0301', 'u\u0308ber', 'Vie\u0302\u0323t', 'ạ̈'],
  punctuation: ['“quoted” – dash — … «x» ‘y’', 'a.b,c;d:e!f?', '(a) [b] {c}'],
}

interface Part {
  readonly type?: string
  readonly [field: string]: unknown
}

/** The parts of a normalizer or pre-tokenizer, in order. */
function partsOf(part: object | null): readonly Part[] {
  const { normalizers, pretokenizers, ...own } = (part ?? {}) as Part
  const inner = normalizers ?? pretokenizers
  return Array.isArray(inner) ? (inner as object[]).flatMap(partsOf) : [own]
}

/** What each declared part of a tokenizer changes of a text. */
const CHANGES: Readonly<Record<string, (text: string, part: Part) => string>> = {
  NFC: (text) => text.normalize('NFC'),
  NFD: (text) => text.normalize('NFD'),
  NFKC: (text) => text.normalize('NFKC'),
  NFKD: (text) => text.normalize('NFKD'),
  Lowercase: (text) => text.toLowerCase(),
  StripAccents: (text) => text.normalize('NFD').replace(/\p{M}/gu, ''),
  Strip: (text) => text.trim(),
  // Marks of spaces are undone by the decoder.
  Replace: (text, { pattern, content }) => {
    const { String: literal, Regex: source = '' } = pattern as { String?: string; Regex?: string }
    return String(content).includes('▁') ? text : text.replaceAll(literal ?? new RegExp(source, 'gu'), String(content))
  },
  Precompiled: (text) => withoutSpace(text.normalize('NFKC')),
  BertNormalizer: (text, { lowercase, strip_accents: strips }) => {
    const cased = lowercase === false ? text : text.toLowerCase()
    const plain = (strips ?? lowercase) === false ? cased : cased.normalize('NFD').replace(/\p{Mn}/gu, '')
    return withoutSpace(plain.replace(/\p{C}/gu, ''))
  },
  BertPreTokenizer: withoutSpace,
  Whitespace: withoutSpace,
  WhitespaceSplit: withoutSpace,
  ByteLevel: (text, { add_prefix_space: adds }) => (adds === true ? text.replace(/^ /, '') : text),
}

function withoutSpace(text: string): string {
  return text.replace(/\s+/g, '')
}

/** Applies what the tokenizer declares to change, so that two texts that it holds for the same are equal. */
function asDeclared({ normalizer, pre_tokenizer }: TokenizerJson, text: string): string {
  return [...partsOf(normalizer), ...partsOf(pre_tokenizer)].reduce(
    (changed, part) => CHANGES[part.type ?? '']?.(changed, part) ?? changed,
    text,
  )
}

/**
 * Encodes and decodes a fixed list of texts. A change that the tokenizer declares (a normalizer, words split at white space) is none.
 * @returns kinds of texts for which the vocabulary has no tokens
 * @throws checkpoint_invalid naming the tokenizer, the kind of text, the text and what came back
 */
export function checkRoundTrip(files: TokenizerFiles, name: string): string[] {
  const { tokenizer } = files
  const codec = openTokenizer(files)
  const { unk_token: token, unk_id: id } = tokenizer.model as { unk_token?: unknown; unk_id?: unknown }
  const unknown = typeof token === 'string' ? tokenId(tokenizer, token) : id
  return Object.entries(TEXTS).flatMap(([kind, texts]) => {
    let isUnknown = false
    for (const text of texts) {
      const { ids } = codec.encode(text, { add_special_tokens: false })
      if (ids.some((id) => id === unknown || !Number.isInteger(id))) isUnknown = true
      else {
        const back = ids.length === 0 ? '' : codec.decode(ids, { skip_special_tokens: true, clean_up_tokenization_spaces: false })
        if (asDeclared(tokenizer, back) !== asDeclared(tokenizer, text))
          throw invalid(
            `the tokenizer of ${name} does not give back ${kind}: ${JSON.stringify(text)} becomes ${JSON.stringify(back)}; take its files from the checkpoint again, or build from the Hugging Face folder of the model instead of a GGUF file`,
            'tokenizer',
          )
      }
    }
    return isUnknown ? [kind] : []
  })
}
