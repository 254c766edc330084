/** Made from the schemas of the HTTP API by `npm run client:types`: change those. */
/* oxlint-disable max-lines */

export interface AnswerDocumentRequest {
  /** The document. */
  text: string
  /** Format of the text. text: read as is, with Markdown headings. markdown, html: parsed as a file of that type. Default: text. */
  type?: 'text' | 'markdown' | 'html'
  /** The question. Required, unless summarise is true or the document contains its own question after BEGIN and END lines. */
  question?: string
  /** Summarise the document instead of answering a question. Default: false. */
  summarise?: boolean
  /** Title of the document. Default: the title stored in the file, else the file name. */
  title?: string
  /** passages: chunks of whole sentences with title and heading. tokens: fixed slices cut from the end, as in the paper. Default: passages; tokens if the document contains its own question. */
  chunking?: 'passages' | 'tokens'
  /** Tokens per chunk. Default: the model's protocol. */
  chunk_tokens?: number
  /** Tokens at the end of the document to place in the decoder prompt. Default: the model's k_decoder passages; in map-rerank mode the best chunks are read one at a time. */
  decoder_tokens?: number
  /** Tokens before those that the encoder reads; earlier text is not read. Default: all; 0 for a model without encoder. */
  encoder_tokens?: number
  /** Maximum number of tokens to generate. Default: the model's protocol; 256 or half the window for a summary. */
  max_new_tokens?: number
  /** Minimum number of tokens to generate. If set, attention is not measured. */
  min_new_tokens?: number
  sampling?: Sampling
  /** Chat template of the prompt. none: no template, as in the paper. inst: LLaMA-2-Chat's [INST] ... [/INST]. tokenizer: the model's own. Default: CEPE_CHAT_TEMPLATE, else none. */
  chat_template?: 'none' | 'inst' | 'tokenizer'
  /** Instruction after the question in the prompt; empty for none. Default with a chat template: that of qa_config.json, else to answer in the fewest words. */
  instruction?: string
  /** Number of encoder chunks to return, by share of attention. Default: 5. */
  evidence?: number
  /** Also return the document's text, to which all offsets refer. */
  include_text?: boolean
  /** Also return the decoder's prompt and the encoder's texts. */
  include_prompts?: boolean
}

export interface AnswerDocumentResponse {
  /** The answer or summary; empty if the model generated nothing. */
  answer: string
  /** Geometric mean of the generated tokens' probabilities, stop token included; 0 for an empty answer. With sampling: at most that of the greedy answer. Not a calibrated probability. */
  confidence: number
  finish_reason: 'stop' | 'length'
  document: {
    title: string
    /** Format of the file: `text`, `markdown`, `html`, `pdf`, `docx`, ... */
    type: string
    characters: number
    /** Tokens in the document. */
    tokens: number
    pages: number | null
    /** Number of chunks that the encoder read. */
    chunks: number
    /** Characters that neither encoder nor decoder read. */
    unread: number
    /** Content of the file that is missing from its text. */
    warnings: string[]
    text?: string
  }
  /** The encoder's chunks by share of attention, followed by those of the decoder. */
  evidence: {
    /** First UTF-16 code unit of the chunk in the document's text. */
    start: number
    /** End of the chunk in the document's text, exclusive. */
    end: number
    text: string
    /** First and last page of the chunk; null for a format without pages. */
    pages: {
      first: number
      last: number
    } | null
    rank: number
    /** Where the model read the chunk: encoder, or the decoder's prompt. */
    role: 'encoder' | 'decoder'
    /** Share of the decoder's cross-attention on this chunk; null for chunks in the decoder, with sampling or min_new_tokens, and for very long documents. */
    attention: number | null
    tokens: number
    /** Occurrences of the answer in the chunk, as offsets in the document's text. At most 20. */
    highlights: Highlight[]
  }[]
  usage: {
    /** Tokens in the decoder prompt; in replug mode, in all prompts. */
    prompt_tokens: number
    /** Tokens that the encoder read, over all passages. */
    context_tokens: number
    generated_tokens: number
  }
  timings_ms: {
    /** Extracting the text, in milliseconds. */
    read: number
    queue: number
    /** Chunking and tokenising the document, in milliseconds. */
    plan: number
    encode: number
    generate: number
    total: number
  }
  model: {
    reader: string
  }
  prompts?: string[]
  contexts?: string[]
}

export type AnswerEvent =
  | {
      event: 'evidence'
      data: EvidenceEvent
    }
  | {
      event: 'token'
      data: TokenEvent
    }
  | {
      event: 'answer'
      data: AnswerResponse
    }

export interface AnswerManyRequest {
  /** Questions, each with the fields of POST /v1/answer. */
  questions: Question[]
}

export interface AnswerRequest {
  /** The question. Case and punctuation do not matter. */
  question: string
  /** Earlier questions with their answers, oldest first. A follow-up question is rewritten to stand alone. */
  earlier?: EarlierQuestion[]
  /** Collection to search. Default: CEPE_TABLE, or the first collection of the key. */
  collection?: string
  /** Number of passages to retrieve. Default: the model's protocol. */
  k?: number
  /** Number of passages in the decoder prompt; the others go to the encoder. Default: the model's protocol. */
  k_decoder?: number
  /** How the reader reads the passages; docs/api.md describes each mode. Default: the mode of qa_config.json, else cepe, or decoder-only for a model without encoder. */
  mode?: 'cepe' | 'decoder-only' | 'map-rerank' | 'experts' | 'replug' | 'closed-book'
  /** Passages that the encoder reads. others: those not in the decoder prompt. all: all of them. Default: others. */
  encoder_passages?: 'others' | 'all'
  /** Search method. dense: embeddings. text: BM25. hybrid: a weighted sum of both scores. Default: CEPE_RETRIEVAL. */
  method?: 'dense' | 'text' | 'hybrid'
  /** Retrieve more passages, rerank them as POST /v1/rerank does, and keep the best. Default: false. */
  rerank?: boolean
  filter?: Filter
  /** Answer from these passages, best first, instead of retrieving. */
  passages?: SuppliedPassage[]
  /** Number of the service's few-shot examples in the prompt, or the examples themselves. Default: the model's protocol; none with a chat template. */
  demonstrations?: number | Demonstration[]
  /** Maximum number of tokens per passage; longer passages are truncated. */
  context_tokens?: number
  /** Maximum number of tokens to generate. */
  max_new_tokens?: number
  /** Stop sequences, excluded from the answer. A line end always stops generation. */
  stop?: string[]
  sampling?: Sampling
  /** passages: each is truncated to context_tokens, those that do not fit are left out. text: the prompt is truncated at the window, as in the published evaluation. Default: passages. */
  packing?: 'passages' | 'text'
  /** Minimum probability_correct (confidence if null); answers below it are withheld. Default: CEPE_MIN_CONFIDENCE, else 0.5 with a calibration. 0 also streams while generating. */
  min_confidence?: number
  /** sentences: also return the sentence of each passage with most attention (evidence[].attended). */
  attention?: 'sentences'
  /** drop: answer again without each of the 5 passages with most attention, and return the differences. Reads 11 more prompts. Not with sampling, replug or closed-book. */
  explain?: 'drop'
  /** Also return the answer's tokens with log-probabilities and this many alternatives for each. Values above 0 read the prompt again. Not in replug mode. */
  logprobs?: number
  /** Also return the inputs of the calibration (signals). */
  include_signals?: boolean
  /** Chat template of the prompt. none: no template, as in the paper. inst: LLaMA-2-Chat's [INST] ... [/INST]. tokenizer: the model's own. Default: CEPE_CHAT_TEMPLATE, else none. */
  chat_template?: 'none' | 'inst' | 'tokenizer'
  /** Instruction after the question in the prompt; empty for none. Default with a chat template: that of qa_config.json, else to answer in the fewest words. */
  instruction?: string
  /** Also return the decoder prompts and the encoder's texts, as tokenised and truncated. */
  include_prompts?: boolean
  /** Temperature of the softmax over passage weights in replug mode. */
  replug_temperature?: number
  /** Stream server-sent events, as POST /v1/answer/stream does. Default: false. */
  stream?: boolean
}

export interface AnswerResponse {
  /** The question that was searched for; a follow-up is rewritten to stand alone. */
  question: string
  /** The answer; empty if the model generated nothing, null if withheld or without passages (see reason). */
  answer: string | null
  /** True if the answer was withheld because it is below min_confidence. */
  abstained: boolean
  /** Why there is no answer. no_question: a greeting or thanks. no_passages: none found or supplied. low_probability_correct, low_confidence: below min_confidence. null with an answer. */
  reason: 'no_question' | 'no_passages' | 'low_probability_correct' | 'low_confidence' | null
  /** Calibrated probability that the answer is right; null without a calibration for this mode, and for an empty answer. With sampling: at most that of the greedy answer. */
  probability_correct: number | null
  /** Without an answer: the sentence of the passages most similar to the question. null with an answer or without passages. */
  extract: {
    /** The passage. */
    id: string
    title: string
    /** Offsets of the sentence in the passage's text, in UTF-16 code units. */
    start: number
    end: number
    text: string
  } | null
  /** With reason no_question: a sentence on what can be asked. */
  suggestion?: string
  /** Geometric mean of the generated tokens' probabilities, stop token included; 0 for an empty answer. With sampling: at most that of the greedy answer. Not a calibrated probability. */
  confidence: number
  /** stop: the model ended the answer. length: max_new_tokens was reached. null: nothing was generated. */
  finish_reason: 'stop' | 'length' | null
  evidence: Evidence[]
  /** How the reader reads the passages; docs/api.md describes each mode. Default: the mode of qa_config.json, else cepe, or decoder-only for a model without encoder. */
  mode: 'cepe' | 'decoder-only' | 'map-rerank' | 'experts' | 'replug' | 'closed-book'
  usage: {
    /** Tokens in the decoder prompt; in replug mode, in all prompts. */
    prompt_tokens: number
    /** Tokens that the encoder read, over all passages. */
    context_tokens: number
    generated_tokens: number
  }
  timings_ms: {
    embed: number
    retrieve: number
    /** Waiting for a free reader, in milliseconds. */
    queue: number
    /** Rendering and tokenising the prompts, in milliseconds. */
    plan: number
    encode: number
    generate: number
    total: number
  }
  model: {
    reader: string
    retriever: string | null
  }
  index: IndexVersion | null
  /** With explain: how the answer changes without single passages; null without an answer. */
  explanation?: {
    /** Ids of the passages whose removal changes the answer. */
    hangs_on: string[]
    /** Log-probability of the answer and its line end, with all passages. */
    logprob: number
    /** Most attended passage first. */
    dropped: {
      /** Id of the passage that was removed. */
      id: string
      rank: number
      /** Answer without that passage. */
      answer: string
      /** True if the answer differs, ignoring case, accents and punctuation. */
      changed: boolean
      /** Change in the original answer's log-probability; negative if the passage supports the answer. */
      logprob_change: number
    }[]
  } | null
  /** With logprobs: the tokens of the answer; their concatenated texts are the answer. null without an answer. */
  tokens?: AnswerToken[] | null
  /** With include_signals: the inputs of the calibration; null if not measured. */
  signals?: {
    confidence: number
    mean_doubt: number
    most_doubt: number
    first_doubt: number
    stop_doubt: number
    passage_entropy: number
    attended_rank: number
    token_peak: number
    token_entropy: number
    first_token_entropy: number
    saying_attention: number
    saying_share: number
    saying_rank: number
    sentence_overlap: number
    title_overlap: number
    echo: number
    from_prompt: number
  } | null
  prompts?: string[]
  /** The encoder's texts, by rank (with include_prompts). */
  contexts?: string[]
}

export interface AnswerToken {
  text: string
  /** Natural logarithm of the token's probability under the model. */
  logprob: number
  /** Most probable first. */
  top: {
    text: string
    /** Natural logarithm of the token's probability under the model. */
    logprob: number
  }[]
}

export interface BatchItem {
  /** Index of the question in the request. */
  index: number
  /** HTTP status that POST /v1/answer would return. */
  status: number
  result?: AnswerResponse
  error?: {
    /** Stable error code. */
    code: string
    /** Human-readable: the problem and the remedy. */
    message: string
    /** The offending field of the request. */
    field?: string
    request_id: string
  }
}

export interface BrowsePassagesResponse {
  passages: StoredPassage[]
  /** Total over all pages. */
  total: number
  /** position: by `metadata.position`, the order of the document. id: by id, without positions, with several sources or more than 10000 passages. */
  order: 'position' | 'id'
  /** Value of `after` for the next page; null on the last page. */
  next: string | null
}

export interface BrowseSourcesResponse {
  /** Ordered by name. */
  sources: {
    /** Source; empty for passages without one. */
    source: string
    passages: number
  }[]
  /** Total over all pages. */
  total: {
    sources: number
    passages: number
  }
  /** Value of `after` for the next page; null on the last page. */
  next: string | null
}

export interface Collection {
  name: string
  /** null if the table cannot be read. */
  passages: number | null
  /** ready: searchable. incompatible: vectors of a retriever that is not loaded. missing: no table yet. unavailable: the table cannot be read. */
  state: 'ready' | 'incompatible' | 'missing' | 'unavailable'
  /** True for the collection used if a request of this key names none. */
  default: boolean
  /** Why the collection cannot be searched. */
  problem: {
    code: string
    message: string
  } | null
}

export interface DeletePassageResponse {
  deleted: number
}

export type DeletePassagesRequest =
  | {
      ids: string[]
    }
  | {
      filter: Filter
    }

export interface DeletePassagesResponse {
  deleted: number
}

export interface Demonstration {
  /** Question of a few-shot example. */
  question: string
  /** Answer of the example. */
  answer: string
  passage?: {
    title: string
    /** Passage that contains the answer. */
    text: string
  }
}

export interface EarlierQuestion {
  /** The question. */
  question: string
  /** null: there was none. */
  answer: string | null
}

/** Bad Request */
export interface ErrorBody {
  error: {
    /** Stable error code. */
    code: string
    /** Human-readable: the problem and the remedy. */
    message: string
    /** The offending field of the request. */
    field?: string
    request_id: string
  }
}

export interface Evidence {
  id: string
  title: string
  text: string
  /** Origin of the passage, such as a URL or a file, if the corpus names it. */
  source?: string
  metadata?: PassageMetadata
  /** URL of the file that the passage was taken from (CEPE_SERVE_FILES). */
  file?: string
  /** Retrieval score: dot product (dense), BM25 (text) or weighted sum (hybrid); null if supplied without one. */
  score: number | null
  rank: number
  /** Where the model read the passage. unused: it did not fit (decoder-only) or could not change the answer (map-rerank). */
  role: 'encoder' | 'decoder' | 'both' | 'unused'
  /** Share of the decoder's cross-attention on this passage, over layers, heads and answer tokens; null if the encoder did not read it. With sampling: of the greedy answer. */
  attention: number | null
  /** Tokens that the encoder read; null if it did not read the passage. */
  tokens: number | null
  /** Occurrences of the answer in the passage, each with its sentence. At most 20. */
  highlights: Highlight[]
  /** With attention: sentences: the sentence of `text` with most cross-attention and its share; null beyond the 20 passages with most attention. */
  attended?: {
    start: number
    end: number
    share: number
  } | null
}

/** The retrieved passages, before they are read; the event `answer` contains where each was read. */
export interface EvidenceEvent {
  /** The question that was searched for; a follow-up is rewritten to stand alone. */
  question: string
  evidence: FoundPassage[]
  model: {
    reader: string
    retriever: string | null
  }
  index: IndexVersion | null
}

/** Filter on passages; all conditions must hold. A value means equal, a list means in. */
export interface Filter {
  /** Only passages from this source (or one of these). */
  source?:
    | string
    | string[]
    | {
        equal?: string
        in?: string[]
        prefix?: string
        gt?: string
        gte?: string
        lt?: string
        lte?: string
      }
  /** Only passages with this title (or one of these). */
  title?:
    | string
    | string[]
    | {
        equal?: string
        in?: string[]
        prefix?: string
        gt?: string
        gte?: string
        lt?: string
        lte?: string
      }
  /** Only passages with this id (or one of these). */
  id?:
    | string
    | string[]
    | {
        equal?: string
        in?: string[]
        prefix?: string
        gt?: string
        gte?: string
        lt?: string
        lte?: string
      }
  /** Conditions by metadata field. equal, in: same type and value, or one value of a list. gt, gte, lt, lte: numbers, or strings by code points. prefix: strings. */
  metadata?: Record<
    string,
    | string
    | number
    | boolean
    | null
    | (string | number | boolean | null)[]
    | {
        equal?: string | number | boolean | null
        in?: (string | number | boolean | null)[]
        prefix?: string
        gt?: number | string
        gte?: number | string
        lt?: number | string
        lte?: number | string
      }
  >
}

export interface FoundPassage {
  id: string
  title: string
  text: string
  /** Origin of the passage, such as a URL or a file, if the corpus names it. */
  source?: string
  /** Retrieval score: dot product (dense), BM25 (text) or weighted sum (hybrid); null if supplied without one. */
  score: number | null
  rank: number
}

export interface GetInfoResponse {
  /** Version of the service. */
  version: string
  /** Name of this request's key; null without a valid one. */
  key: {
    name: string
    role: 'user' | 'admin'
  } | null
  /** Whether feedback on answers is stored (CEPE_FEEDBACK). */
  feedback: boolean
  /** Whether the files of passages can be downloaded (CEPE_SERVE_FILES). */
  files: boolean
  reader: {
    id: string
    dtype: string
    parameters: number
    /** Context window of the decoder in tokens, prompt and answer. */
    window: number
    /** The model's protocol: defaults for fields that a request omits. */
    defaults: {
      mode: string
      k: number
      k_decoder: number
      demonstrations: number
      context_tokens: number
      max_new_tokens: number
      /** Text after a question in a chat template; default: to answer with a name, number or phrase. Empty: none. */
      instruction?: string
    }
  }
  /** Id of the model that embeds questions. */
  retriever: {
    id: string
    dtype: string
    dimension: number
    /** Search method. dense: embeddings. text: BM25. hybrid: a weighted sum of both scores. Default: CEPE_RETRIEVAL. */
    method: 'dense' | 'text' | 'hybrid'
  }
  /** Ids of all loaded retrievers; tables of any of them can be searched. */
  retrievers: {
    id: string
    dtype: string
    dimension: number
    /** Model id of the table in service. */
    serves: boolean
  }[]
  /** null if there is no index yet. */
  index: IndexVersion | null
  /** Corpus description shown on the page: from settings, else from titles. */
  corpus: {
    title: string
    /** One sentence on the content of the corpus. */
    about: string
    /** Example questions. */
    questions: string[]
  }
  /** Why this process does not serve the newest table; null if it does. */
  newer_table: {
    code: string
    message: string
  } | null
  /** Calibration behind probability_correct; null if the reader has none. */
  calibration: {
    fitted_at: string
    /** Number of answers used for fitting. */
    answers: number
    index: IndexVersion
    /** False if fitted with another table, number of passages or retriever than in service. */
    same_index: boolean
    /** Expected calibration error, cross-validated. */
    ece: number
    auroc: number
  } | null
  min_confidence: number
  /** Modes that this reader supports. */
  modes: string[]
  methods: string[]
  limits: {
    question_characters: number
    k: number
    passages: number
    new_tokens: number
    context_tokens: number
    deadline_ms: number
    dropped_passages: number
  }
}

/** Offsets in `text` in UTF-16 code units; the end is exclusive. */
export interface Highlight {
  start: number
  end: number
  sentence: {
    start: number
    end: number
  }
}

export interface IndexVersion {
  table: string
  version: number
  passages: number
}

export interface ListCollectionsResponse {
  collections: Collection[]
  /** Value of `after` for the next page; null on the last page. */
  next: string | null
}

export interface Passage {
  id: string
  title: string
  text: string
  /** Origin of the passage; can be filtered. */
  source?: string
  metadata?: PassageMetadata
}

/** Named strings, numbers, booleans, nulls or lists of strings; can be filtered. At most 32, and 4096 bytes of JSON. */
export type PassageMetadata = Record<string, string | number | boolean | null | string[]>

export interface Question {
  /** The question. Case and punctuation do not matter. */
  question: string
  /** Earlier questions with their answers, oldest first. A follow-up question is rewritten to stand alone. */
  earlier?: EarlierQuestion[]
  /** Collection to search. Default: CEPE_TABLE, or the first collection of the key. */
  collection?: string
  /** Number of passages to retrieve. Default: the model's protocol. */
  k?: number
  /** Number of passages in the decoder prompt; the others go to the encoder. Default: the model's protocol. */
  k_decoder?: number
  /** How the reader reads the passages; docs/api.md describes each mode. Default: the mode of qa_config.json, else cepe, or decoder-only for a model without encoder. */
  mode?: 'cepe' | 'decoder-only' | 'map-rerank' | 'experts' | 'replug' | 'closed-book'
  /** Passages that the encoder reads. others: those not in the decoder prompt. all: all of them. Default: others. */
  encoder_passages?: 'others' | 'all'
  /** Search method. dense: embeddings. text: BM25. hybrid: a weighted sum of both scores. Default: CEPE_RETRIEVAL. */
  method?: 'dense' | 'text' | 'hybrid'
  /** Retrieve more passages, rerank them as POST /v1/rerank does, and keep the best. Default: false. */
  rerank?: boolean
  filter?: Filter
  /** Answer from these passages, best first, instead of retrieving. */
  passages?: SuppliedPassage[]
  /** Number of the service's few-shot examples in the prompt, or the examples themselves. Default: the model's protocol; none with a chat template. */
  demonstrations?: number | Demonstration[]
  /** Maximum number of tokens per passage; longer passages are truncated. */
  context_tokens?: number
  /** Maximum number of tokens to generate. */
  max_new_tokens?: number
  /** Stop sequences, excluded from the answer. A line end always stops generation. */
  stop?: string[]
  sampling?: Sampling
  /** passages: each is truncated to context_tokens, those that do not fit are left out. text: the prompt is truncated at the window, as in the published evaluation. Default: passages. */
  packing?: 'passages' | 'text'
  /** Minimum probability_correct (confidence if null); answers below it are withheld. Default: CEPE_MIN_CONFIDENCE, else 0.5 with a calibration. 0 also streams while generating. */
  min_confidence?: number
  /** sentences: also return the sentence of each passage with most attention (evidence[].attended). */
  attention?: 'sentences'
  /** drop: answer again without each of the 5 passages with most attention, and return the differences. Reads 11 more prompts. Not with sampling, replug or closed-book. */
  explain?: 'drop'
  /** Also return the answer's tokens with log-probabilities and this many alternatives for each. Values above 0 read the prompt again. Not in replug mode. */
  logprobs?: number
  /** Also return the inputs of the calibration (signals). */
  include_signals?: boolean
  /** Chat template of the prompt. none: no template, as in the paper. inst: LLaMA-2-Chat's [INST] ... [/INST]. tokenizer: the model's own. Default: CEPE_CHAT_TEMPLATE, else none. */
  chat_template?: 'none' | 'inst' | 'tokenizer'
  /** Instruction after the question in the prompt; empty for none. Default with a chat template: that of qa_config.json, else to answer in the fewest words. */
  instruction?: string
  /** Also return the decoder prompts and the encoder's texts, as tokenised and truncated. */
  include_prompts?: boolean
  /** Temperature of the softmax over passage weights in replug mode. */
  replug_temperature?: number
}

export interface RerankRequest {
  /** Model to rerank with: the cross-encoder or reader by id or short name, or cepe. */
  model?: string
  /** Query that the documents are scored against. */
  query: string
  /** Maximum number of results. Default: all. */
  top_n?: number
  /** Return logits (cross-encoder) or mean log-probabilities (reader) instead of scores from 0 to 1. Default: false. */
  raw_scores?: boolean
  documents: (
    | string
    | {
        text: string
        title?: string
      }
  )[]
  /** Return the documents too. Default: false. */
  return_documents?: boolean
  /** Maximum number of tokens per document. Default: the model's limit. */
  max_tokens_per_doc?: number
  /** Fields of the documents to read; must include `text`. Default: title and text. */
  rank_fields?: ('text' | 'title')[]
  /** No effect. */
  max_chunks_per_doc?: number
  /** No effect. */
  priority?: number
  /** No effect. */
  user?: string
}

export interface RerankResponse {
  id: string
  model: string
  /** Best first. */
  results: {
    /** Index in the request. */
    index: number
    /** 0 to 1, not calibrated. Cross-encoder: sigmoid of the logit. Reader: geometric mean of the query's token probabilities, comparable within one request only. */
    relevance_score: number
    document?: {
      text: string
      title?: string
    }
  }[]
  usage: {
    total_tokens: number
  }
}

/** Sample instead of greedy decoding. The greedy answer still selects the passages and decides whether to withhold. */
export interface Sampling {
  temperature: number
  top_p: number
  /** Sample from this many most probable tokens. Default: all. */
  top_k?: number
  seed: number
}

export interface ScoreRequest {
  /** The question. */
  question: string
  /** Collection to search. Default: CEPE_TABLE, or the first collection of the key. */
  collection?: string
  choices: string[]
  /** Number of passages to retrieve. Default: the model's protocol. */
  k?: number
  k_decoder?: number
  /** Search method. dense: embeddings. text: BM25. hybrid: a weighted sum of both scores. Default: CEPE_RETRIEVAL. */
  method?: 'dense' | 'text' | 'hybrid'
  filter?: Filter
  passages?: SuppliedPassage[]
  /** Number of the service's few-shot examples in the prompt, or the examples themselves. Default: the model's protocol; none with a chat template. */
  demonstrations?: number | Demonstration[]
}

export interface ScoreResponse {
  choices: {
    choice: string
    /** Log-probability of the choice and its line end, given question and passages. */
    logprob: number
    tokens: number
    /** Softmax of the log-probabilities over the choices. */
    probability: number
  }[]
  /** Index of the most probable choice; null where there were no passages. */
  best: number | null
  /** no_passages: none were found or supplied. null otherwise. */
  reason: 'no_passages' | null
  evidence: Evidence[]
  model: {
    reader: string
    retriever: string | null
  }
  index: IndexVersion | null
}

export interface SearchRequest {
  /** The query. */
  query: string
  /** Collection to search. Default: CEPE_TABLE, or the first collection of the key. */
  collection?: string
  k?: number
  filter?: Filter
  /** Search method. dense: embeddings. text: BM25. hybrid: a weighted sum of both scores. Default: CEPE_RETRIEVAL. */
  method?: 'dense' | 'text' | 'hybrid'
  /** Retrieve more passages, rerank them as POST /v1/rerank does, and keep the best. Default: false. */
  rerank?: boolean
}

export interface SearchResponse {
  passages: {
    id: string
    title: string
    text: string
    /** Origin of the passage, such as a URL or a file, if the corpus names it. */
    source?: string
    metadata?: PassageMetadata
    /** URL of the file that the passage was taken from (CEPE_SERVE_FILES). */
    file?: string
    score: number
    rank: number
  }[]
  timings_ms: {
    embed: number
    retrieve: number
    total: number
  }
  model: {
    retriever: string
  }
  index: IndexVersion
}

export interface StoredPassage {
  id: string
  title: string
  text: string
  /** Origin of the passage; can be filtered. */
  source?: string
  metadata?: PassageMetadata
  /** URL of the file that the passage was taken from (CEPE_SERVE_FILES). */
  file?: string
}

export interface SuppliedPassage {
  id?: string
  title: string
  /** The passage. */
  text: string
  /** Retrieval score; weight of the passage in replug mode. */
  score?: number
  /** Origin of the passage; returned with the evidence. */
  source?: string
  metadata?: PassageMetadata
}

/** Next part of the answer; the concatenated parts are the answer. */
export interface TokenEvent {
  text: string
}

export interface UpsertPassagesRequest {
  passages: Passage[]
  /** Split each text into passages of about 100 words with ids `id#1`, `id#2`, ... Default: false. */
  split?: boolean
}

export interface UpsertPassagesResponse {
  /** Passages written. */
  upserted: number
  /** Unchanged passages, neither embedded nor written. */
  unchanged: number
  /** Retriever tokens beyond the limits of retriever and reader, in total; they are stored, but only text search finds them. */
  truncated_tokens: number
  /** Passages with such tokens. */
  truncated?: {
    id: string
    tokens: number
  }[]
  /** With partial: number of passages that were rejected. */
  rejected?: number
  /** With partial: one result per passage, in request order. */
  results?: {
    /** Null if the passage has no readable id. */
    id: string | null
    status: 'upserted' | 'unchanged' | 'rejected'
    error?: {
      code: string
      message: string
      field?: string
    }
  }[]
}
