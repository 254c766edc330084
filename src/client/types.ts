/** Made from the schemas of the HTTP API by `npm run client:types`: change those. */
/* oxlint-disable max-lines */

export interface AnswerDocumentRequest {
  /** The document. */
  text: string
  /** What the text is (default: text). Text is read as it is, with the headings of Markdown; Markdown and HTML as files of that type. */
  type?: 'text' | 'markdown' | 'html'
  /** The question. Without one, and without summarise, the document must bring its own between BEGIN and END lines and after them. */
  question?: string
  /** Ask for a summary instead. */
  summarise?: boolean
  /** What the document is called; default: what the file itself says, or its name. */
  title?: string
  /** passages (default): sentences and lines are packed into chunks, each with title and heading in front. tokens: slices of the tokens, cut from the end, as in the published evaluation of long documents; the default for a document that brings its own question. */
  chunking?: 'passages' | 'tokens'
  /** Tokens of a chunk (default: the model's own). */
  chunk_tokens?: number
  /** Tokens of the document's end that stand in the decoder's prompt, where they fit (default: the model's k_decoder passages, or as much as there is room for without an encoder; 2,048 with question and answer at most). A model whose mode is map-rerank reads the chunks that fit the question best, one at a time, unless this is given. */
  decoder_tokens?: number
  /** Tokens in front of those that the encoder reads; what is earlier is not read (default: all; of a model without encoder 0). */
  encoder_tokens?: number
  /** Most tokens of the answer (default: the model's own; for a summary 256 or half the window). */
  max_new_tokens?: number
  /** Tokens before which the answer does not end; attention is not measured then. */
  min_new_tokens?: number
  sampling?: Sampling
  /** Chat template of the prompt. none: nothing, as in the paper. inst: LLaMA-2-Chat's [INST] ... [/INST]. tokenizer: the model's own, as the only message of a user. Default: the service's setting (CEPE_CHAT_TEMPLATE), else none. */
  chat_template?: 'none' | 'inst' | 'tokenizer'
  /** Text after the question in the prompt. Default with a chat template: the model's own (qa_config.json), else one that asks for a name, number or phrase from the passages, or "not in the passages", which counts as an empty answer. Empty: none. For a summary: what to write. */
  instruction?: string
  /** Chunks of the encoder to return, by their share of attention (default: 5). */
  evidence?: number
  /** Also return the document's text, which the offsets are of. */
  include_text?: boolean
  /** Also return the decoder's prompt and the encoder's texts. */
  include_prompts?: boolean
}

export interface AnswerDocumentResponse {
  /** The answer, or the summary; empty where the model stopped at once. */
  answer: string
  /** Geometric mean of the probabilities of the generated tokens, the stop token included: exp(mean log-probability); 0 where the answer is empty. With sampling: of the greedy answer too, the lower of both; with a response format: of the value alone. A ranking score, not a calibrated probability. */
  confidence: number
  finish_reason: 'stop' | 'length'
  document: {
    title: string
    /** Kind of the file: `text`, `markdown`, `html`, `pdf`, `docx`, ... */
    type: string
    characters: number
    /** Of the whole document. */
    tokens: number
    pages: number | null
    /** Chunks that the encoder read. */
    chunks: number
    /** Characters that neither side read (encoder_tokens, a model without encoder, or in mode map-rerank what fits the question less). */
    unread: number
    /** What of the file is not in its text. */
    warnings: string[]
    text?: string
  }
  /** The encoder's chunks by their share of attention, then what the decoder read. */
  evidence: {
    /** First UTF-16 code unit of the chunk in the document's text. */
    start: number
    /** Where it ends, exclusive. */
    end: number
    text: string
    /** Pages that it stands on; null for what has no pages. */
    pages: {
      first: number
      last: number
    } | null
    rank: number
    /** Where the model read it; decoder: in a prompt (the document's end, or in mode map-rerank a chunk that fits the question). */
    role: 'encoder' | 'decoder'
    /** Share of the decoder's cross-attention on this chunk; null in the decoder, and where it is not measured (sampling, min_new_tokens, very long documents). */
    attention: number | null
    tokens: number
    /** Where the chunk says the answer's words, as offsets in the document's text; at most 20. */
    highlights: Highlight[]
  }[]
  usage: {
    /** Decoder prompt (in replug mode: of all prompts). */
    prompt_tokens: number
    /** Encoder tokens over all passages. */
    context_tokens: number
    generated_tokens: number
  }
  timings_ms: {
    /** Getting the text out of the file. */
    read: number
    queue: number
    /** Dividing and tokenising the document. */
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
  /** Each as in POST /v1/answer. */
  questions: Question[]
}

export interface AnswerRequest {
  /** The question, in any manner of writing. */
  question: string
  /** Questions before this one with their answers, oldest first: a question that follows them is made to stand alone. */
  earlier?: EarlierQuestion[]
  /** A collection: a table of the index. Default: the service's (CEPE_TABLE), or the first of the key's, where that is bound to others. */
  collection?: string
  /** Passages to retrieve (default: the model's own). */
  k?: number
  /** Passages placed in the decoder prompt; the others go to the encoder (default: the model's own). */
  k_decoder?: number
  /** cepe: passages beyond the decoder's go through the encoder. decoder-only: as many passages as the window holds, nothing encoded. map-rerank: passages are read one at a time, best first, the first k_decoder in a prompt and the others through the encoder if there is one; the answer with the highest confidence times squared relative retrieval score is returned, and passages that cannot change it are not read. replug: one prompt per passage, next-token distributions mixed by retrieval score. closed-book: no passages. Default: the model's own (qa_config.json), else cepe; decoder-only where the model is a decoder without encoder, which is not asked in mode cepe. */
  mode?: 'cepe' | 'decoder-only' | 'map-rerank' | 'replug' | 'closed-book'
  /** others (default): the encoder gets the passages that the decoder prompt does not hold. all: it gets all of them. */
  encoder_passages?: 'others' | 'all'
  /** dense: Contriever. text: BM25. hybrid: both, their scores fused with a weight measured on the corpus. Default: the service's setting (CEPE_RETRIEVAL). */
  method?: 'dense' | 'text' | 'hybrid'
  /** Find more passages than are kept, and keep those that fit the question best (ordered as by POST /v1/rerank). Scores stay the search's. Default: false. */
  rerank?: boolean
  filter?: Filter
  /** Answer from these passages, best first, instead of retrieving. */
  passages?: SuppliedPassage[]
  /** How many of the service's worked examples precede the question, or the examples themselves (default: the model's own number; none with a chat template). */
  demonstrations?: number | Demonstration[]
  /** Tokens kept of each passage. */
  context_tokens?: number
  /** Most tokens of the answer. */
  max_new_tokens?: number
  /** Texts that end the answer where they come up, and are not part of it. A line end always ends it. */
  stop?: string[]
  sampling?: Sampling
  /** passages (default): each passage is cut to context_tokens, and what does not fit the window is left out whole. text: as the published evaluation: passages are cut where the window ends, with a line that says so, and encoder contexts at their front. */
  packing?: 'passages' | 'text'
  /** Least probability_correct, or confidence where that is null, of an answer; one below it is withheld (abstained). Default: the service's setting (CEPE_MIN_CONFIDENCE), else 0.5 where probability_correct is not null. 0 withholds none, and streams the answer as it is generated. */
  min_confidence?: number
  /** sentences: also tell the sentence of each passage that the answer attended to most (evidence[].attended). The texts are tokenised again for that. */
  attention?: 'sentences'
  /** drop: answer again without each of the 5 passages with most attention, one at a time, and tell what changes (explanation). Reads 11 prompts more. Not with sampling, replug or closed-book. */
  explain?: 'drop'
  /** Also return the answer's tokens with their log-probabilities, and so many of the likeliest tokens in the place of each (tokens). More than 0 reads the prompt once more. Not in mode replug. */
  logprobs?: number
  /** Also return what a calibration weighs (signals). */
  include_signals?: boolean
  /** Chat template of the prompt. none: nothing, as in the paper. inst: LLaMA-2-Chat's [INST] ... [/INST]. tokenizer: the model's own, as the only message of a user. Default: the service's setting (CEPE_CHAT_TEMPLATE), else none. */
  chat_template?: 'none' | 'inst' | 'tokenizer'
  /** Text after the question in the prompt. Default with a chat template: the model's own (qa_config.json), else one that asks for a name, number or phrase from the passages, or "not in the passages", which counts as an empty answer. Empty: none. For a summary: what to write. */
  instruction?: string
  /** Also return the rendered decoder prompts, as tokenised, and the texts of the encoder, as cut. */
  include_prompts?: boolean
  /** Temperature of the passage weights in replug mode. */
  replug_temperature?: number
  /** Answer in server-sent events, as POST /v1/answer/stream does. Default: false. */
  stream?: boolean
}

export interface AnswerResponse {
  /** What was searched and asked: the question, made to stand alone where it follows another. */
  question: string
  /** The answer; empty where the model stopped at once, null where there was nothing to answer from or it is withheld (see reason). */
  answer: string | null
  /** The answer is withheld: it is less likely right than min_confidence asks for. */
  abstained: boolean
  /** Why there is no answer: no_question, the message asks nothing (a greeting, thanks), so nothing was searched; no_passages, none were found (or supplied); low_probability_correct, low_confidence: what is named is below min_confidence. null where there is one. */
  reason: 'no_question' | 'no_passages' | 'low_probability_correct' | 'low_confidence' | null
  /** Probability that the answer is right, by the model's calibration (cepe calibrate); null where there is none, or one fitted on answers that were read in another way (with the encoder, or in the prompt alone), and for the modes closed-book and replug, and an empty answer. With sampling: of the greedy answer too, the lower of both. */
  probability_correct: number | null
  /** Where no answer is given (withheld, or empty): the sentence of the passages that comes nearest to the question. null where there is an answer, or no passage. */
  extract: {
    /** The passage. */
    id: string
    title: string
    /** Of the sentence in the passage's text, in UTF-16 code units. */
    start: number
    end: number
    text: string
  } | null
  /** With the reason no_question: a sentence on what can be asked here. */
  suggestion?: string
  /** Geometric mean of the probabilities of the generated tokens, the stop token included: exp(mean log-probability); 0 where the answer is empty. With sampling: of the greedy answer too, the lower of both; with a response format: of the value alone. A ranking score, not a calibrated probability. */
  confidence: number
  /** stop: the answer ended by itself. length: max_new_tokens was reached. null: nothing was generated. */
  finish_reason: 'stop' | 'length' | null
  evidence: Evidence[]
  /** cepe: passages beyond the decoder's go through the encoder. decoder-only: as many passages as the window holds, nothing encoded. map-rerank: passages are read one at a time, best first, the first k_decoder in a prompt and the others through the encoder if there is one; the answer with the highest confidence times squared relative retrieval score is returned, and passages that cannot change it are not read. replug: one prompt per passage, next-token distributions mixed by retrieval score. closed-book: no passages. Default: the model's own (qa_config.json), else cepe; decoder-only where the model is a decoder without encoder, which is not asked in mode cepe. */
  mode: 'cepe' | 'decoder-only' | 'map-rerank' | 'replug' | 'closed-book'
  usage: {
    /** Decoder prompt (in replug mode: of all prompts). */
    prompt_tokens: number
    /** Encoder tokens over all passages. */
    context_tokens: number
    generated_tokens: number
  }
  timings_ms: {
    embed: number
    retrieve: number
    /** Waiting for a free reader. */
    queue: number
    /** Making and tokenising the prompts. */
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
  /** With explain: what hangs on which passage; null where there is no answer to explain. */
  explanation?: {
    /** Ids of the passages without which the answer is another one. */
    hangs_on: string[]
    /** Log-probability of the answer and the line end after it, with all passages. */
    logprob: number
    /** Most attended passage first. */
    dropped: {
      /** The passage that was left out. */
      id: string
      rank: number
      /** The answer without it. */
      answer: string
      /** The answer is another one, case, accents and punctuation aside. */
      changed: boolean
      /** Log-probability of the first answer without the passage, less that with it: below 0 where the passage supports it. */
      logprob_change: number
    }[]
  } | null
  /** With logprobs: the tokens of the answer, whose texts joined are the answer; null where there is none, or it is withheld. */
  tokens?: AnswerToken[] | null
  /** With include_signals: what a calibration weighs; null where it is not measured. */
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
  /** Natural logarithm of the token's probability, by the model's own distribution. */
  logprob: number
  /** Likeliest first. */
  top: {
    text: string
    /** Natural logarithm of the token's probability, by the model's own distribution. */
    logprob: number
  }[]
}

export interface BatchItem {
  /** Index of the question in the request. */
  index: number
  /** What POST /v1/answer would have answered. */
  status: number
  result?: AnswerResponse
  error?: {
    /** Stable: programs may depend on it. */
    code: string
    /** For people: what is wrong, where, and what to do. */
    message: string
    /** The offending field of the request. */
    field?: string
    request_id: string
  }
}

export interface BrowsePassagesResponse {
  passages: StoredPassage[]
  /** Of all pages. */
  total: number
  /** position: in the order of the document (`metadata.position`). id: they have no position, come from several sources, or are more than 10000. */
  order: 'position' | 'id'
  /** Give it as `after` for the next page; null after the last. */
  next: string | null
}

export interface BrowseSourcesResponse {
  /** In the order of their names. */
  sources: {
    /** Empty for passages without one. */
    source: string
    passages: number
  }[]
  /** Of all pages. */
  total: {
    sources: number
    passages: number
  }
  /** Give it as `after` for the next page; null after the last. */
  next: string | null
}

export interface Collection {
  name: string
  /** null where it cannot be read. */
  passages: number | null
  /** ready: it is searched. incompatible: its vectors are of a retriever that is not loaded, or of other software. missing: it has no table yet (the service's own alone). unavailable: it cannot be read now. */
  state: 'ready' | 'incompatible' | 'missing' | 'unavailable'
  /** It is meant where a request of this key names none. */
  default: boolean
  /** Why it is not searched. */
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
  /** A worked example's question. */
  question: string
  /** Its answer. */
  answer: string
  passage?: {
    title: string
    /** The passage that answers it. */
    text: string
  }
}

export interface EarlierQuestion {
  /** The question as it was asked. */
  question: string
  /** null: there was none. */
  answer: string | null
}

/** Bad Request */
export interface ErrorBody {
  error: {
    /** Stable: programs may depend on it. */
    code: string
    /** For people: what is wrong, where, and what to do. */
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
  /** Where the passage came from, if the corpus says so: a URL, a file. */
  source?: string
  metadata?: PassageMetadata
  /** Where the file is to be had that the passage was taken from, by its name (CEPE_SERVE_FILES). */
  file?: string
  /** By method: dot product with the question, BM25, or both fused (0 to 1); null for supplied passages without one. */
  score: number | null
  rank: number
  /** Where the model read the passage; unused: it did not fit (decoder-only), or could not change the answer (map-rerank). */
  role: 'encoder' | 'decoder' | 'both' | 'unused'
  /** Share of the decoder's cross-attention on this passage, over layers, heads and answer tokens; null where the encoder did not see it, and in scores. With sampling: of the greedy answer. */
  attention: number | null
  /** Tokens that the encoder kept; null where it did not see it. */
  tokens: number | null
  /** Where the passage says the answer's words, each with its sentence; at most 20. Empty where it does not say them. */
  highlights: Highlight[]
  /** With attention: sentences: the sentence of `text` with most of the passage's cross-attention, and its share of that. null where it was not measured (the 20 passages with most attention are). */
  attended?: {
    start: number
    end: number
    share: number
  } | null
}

/** The passages, before they are read; the event `answer` says where and how each was. */
export interface EvidenceEvent {
  /** What was searched and asked: the question, made to stand alone where it follows another. */
  question: string
  evidence: FoundPassage[]
  model: {
    reader: string
    retriever: string | null
  }
  index: IndexVersion | null
}

/** Conditions on the passages; all must hold. A value means equal, a list means in. */
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
  /** By field of the metadata. equal and in: the value, or one value of a list, is one of these, of the same type. gt, gte, lt, lte: numbers by size, strings by code points; a field of another type does not match. prefix: strings. */
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
  /** Where the passage came from, if the corpus says so: a URL, a file. */
  source?: string
  /** By method: dot product with the question, BM25, or both fused (0 to 1); null for supplied passages without one. */
  score: number | null
  rank: number
}

export interface GetInfoResponse {
  /** Of the service. */
  version: string
  /** The key of this request; null without a valid one. */
  key: {
    name: string
    role: 'user' | 'admin'
  } | null
  /** Whether feedback on answers is kept (CEPE_FEEDBACK). */
  feedback: boolean
  /** Whether the files of passages can be downloaded (CEPE_SERVE_FILES). */
  files: boolean
  reader: {
    id: string
    dtype: string
    parameters: number
    /** Tokens of the decoder's prompt and answer. */
    window: number
    /** The model's own protocol: what holds where a request does not say. */
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
  /** What questions are embedded with now. */
  retriever: {
    id: string
    dtype: string
    dimension: number
    /** dense: Contriever. text: BM25. hybrid: both, their scores fused with a weight measured on the corpus. Default: the service's setting (CEPE_RETRIEVAL). */
    method: 'dense' | 'text' | 'hybrid'
  }
  /** All that are loaded: a table of any of them is searched. */
  retrievers: {
    id: string
    dtype: string
    dimension: number
    /** The table in service is of this one. */
    serves: boolean
  }[]
  /** null where there is no index yet. */
  index: IndexVersion | null
  /** What the page shows of the corpus: settings of the operator, else made from titles. */
  corpus: {
    title: string
    /** A sentence: what is in the corpus. */
    about: string
    /** Example questions. */
    questions: string[]
  }
  /** Why the table that replaced the one in service is not searched by this process; null where the newest is. */
  newer_table: {
    code: string
    message: string
  } | null
  /** What probability_correct comes from; null where the reader has no calibration. */
  calibration: {
    fitted_at: string
    /** That it was fitted on. */
    answers: number
    index: IndexVersion
    /** False where it was fitted on another table, another number of passages, or another retriever than serves now. */
    same_index: boolean
    /** Expected calibration error, cross-validated. */
    ece: number
    auroc: number
  } | null
  min_confidence: number
  /** In which this reader can be asked. */
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

/** UTF-16 code units of `text`; the end is exclusive. */
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
  /** Give it as `after` for the next page; null after the last. */
  next: string | null
}

export interface Passage {
  id: string
  title: string
  text: string
  /** Where it came from; usable as a filter. */
  source?: string
  metadata?: PassageMetadata
}

/** Named values: strings, numbers, true, false, null or lists of strings; usable as a filter. At most 32 of them, 4096 bytes of JSON together. */
export type PassageMetadata = Record<string, string | number | boolean | null | string[]>

export interface Question {
  /** The question, in any manner of writing. */
  question: string
  /** Questions before this one with their answers, oldest first: a question that follows them is made to stand alone. */
  earlier?: EarlierQuestion[]
  /** A collection: a table of the index. Default: the service's (CEPE_TABLE), or the first of the key's, where that is bound to others. */
  collection?: string
  /** Passages to retrieve (default: the model's own). */
  k?: number
  /** Passages placed in the decoder prompt; the others go to the encoder (default: the model's own). */
  k_decoder?: number
  /** cepe: passages beyond the decoder's go through the encoder. decoder-only: as many passages as the window holds, nothing encoded. map-rerank: passages are read one at a time, best first, the first k_decoder in a prompt and the others through the encoder if there is one; the answer with the highest confidence times squared relative retrieval score is returned, and passages that cannot change it are not read. replug: one prompt per passage, next-token distributions mixed by retrieval score. closed-book: no passages. Default: the model's own (qa_config.json), else cepe; decoder-only where the model is a decoder without encoder, which is not asked in mode cepe. */
  mode?: 'cepe' | 'decoder-only' | 'map-rerank' | 'replug' | 'closed-book'
  /** others (default): the encoder gets the passages that the decoder prompt does not hold. all: it gets all of them. */
  encoder_passages?: 'others' | 'all'
  /** dense: Contriever. text: BM25. hybrid: both, their scores fused with a weight measured on the corpus. Default: the service's setting (CEPE_RETRIEVAL). */
  method?: 'dense' | 'text' | 'hybrid'
  /** Find more passages than are kept, and keep those that fit the question best (ordered as by POST /v1/rerank). Scores stay the search's. Default: false. */
  rerank?: boolean
  filter?: Filter
  /** Answer from these passages, best first, instead of retrieving. */
  passages?: SuppliedPassage[]
  /** How many of the service's worked examples precede the question, or the examples themselves (default: the model's own number; none with a chat template). */
  demonstrations?: number | Demonstration[]
  /** Tokens kept of each passage. */
  context_tokens?: number
  /** Most tokens of the answer. */
  max_new_tokens?: number
  /** Texts that end the answer where they come up, and are not part of it. A line end always ends it. */
  stop?: string[]
  sampling?: Sampling
  /** passages (default): each passage is cut to context_tokens, and what does not fit the window is left out whole. text: as the published evaluation: passages are cut where the window ends, with a line that says so, and encoder contexts at their front. */
  packing?: 'passages' | 'text'
  /** Least probability_correct, or confidence where that is null, of an answer; one below it is withheld (abstained). Default: the service's setting (CEPE_MIN_CONFIDENCE), else 0.5 where probability_correct is not null. 0 withholds none, and streams the answer as it is generated. */
  min_confidence?: number
  /** sentences: also tell the sentence of each passage that the answer attended to most (evidence[].attended). The texts are tokenised again for that. */
  attention?: 'sentences'
  /** drop: answer again without each of the 5 passages with most attention, one at a time, and tell what changes (explanation). Reads 11 prompts more. Not with sampling, replug or closed-book. */
  explain?: 'drop'
  /** Also return the answer's tokens with their log-probabilities, and so many of the likeliest tokens in the place of each (tokens). More than 0 reads the prompt once more. Not in mode replug. */
  logprobs?: number
  /** Also return what a calibration weighs (signals). */
  include_signals?: boolean
  /** Chat template of the prompt. none: nothing, as in the paper. inst: LLaMA-2-Chat's [INST] ... [/INST]. tokenizer: the model's own, as the only message of a user. Default: the service's setting (CEPE_CHAT_TEMPLATE), else none. */
  chat_template?: 'none' | 'inst' | 'tokenizer'
  /** Text after the question in the prompt. Default with a chat template: the model's own (qa_config.json), else one that asks for a name, number or phrase from the passages, or "not in the passages", which counts as an empty answer. Empty: none. For a summary: what to write. */
  instruction?: string
  /** Also return the rendered decoder prompts, as tokenised, and the texts of the encoder, as cut. */
  include_prompts?: boolean
  /** Temperature of the passage weights in replug mode. */
  replug_temperature?: number
}

export interface RerankRequest {
  /** What orders them, the cross-encoder or else the reader, as answers name it, its short name, or cepe. */
  model?: string
  /** What the documents are ordered by. */
  query: string
  /** Most results. Default: all. */
  top_n?: number
  /** A cross-encoder's logits, or the reader's mean log-probabilities, in place of numbers from 0 to 1. Default: false. */
  raw_scores?: boolean
  documents: (
    | string
    | {
        text: string
        title?: string
      }
  )[]
  /** Give the documents back too. Default: false. */
  return_documents?: boolean
  /** Tokens that are read of each document; default: the model's own. */
  max_tokens_per_doc?: number
  /** Fields of the documents that are read: `text` always. Default: both. */
  rank_fields?: ('text' | 'title')[]
  /** Without effect. */
  max_chunks_per_doc?: number
  /** Without effect. */
  priority?: number
  /** Without effect. */
  user?: string
}

export interface RerankResponse {
  id: string
  model: string
  /** Best first. */
  results: {
    /** Index in the request. */
    index: number
    /** 0 to 1, not calibrated: a cross-encoder's logit through the sigmoid; of a reader the geometric mean of the probabilities of the query's tokens after the document, which orders the documents of one request alone. */
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

/** Sample instead of greedy decoding. The greedy answer is read first: it selects the passages, and an answer is withheld if the greedy one is. */
export interface Sampling {
  temperature: number
  top_p: number
  /** Most likely tokens to choose from. Default: all. */
  top_k?: number
  seed: number
}

export interface ScoreRequest {
  /** The question. */
  question: string
  /** A collection: a table of the index. Default: the service's (CEPE_TABLE), or the first of the key's, where that is bound to others. */
  collection?: string
  choices: string[]
  /** Passages to retrieve (default: the model's own). */
  k?: number
  k_decoder?: number
  /** dense: Contriever. text: BM25. hybrid: both, their scores fused with a weight measured on the corpus. Default: the service's setting (CEPE_RETRIEVAL). */
  method?: 'dense' | 'text' | 'hybrid'
  filter?: Filter
  passages?: SuppliedPassage[]
  /** How many of the service's worked examples precede the question, or the examples themselves (default: the model's own number; none with a chat template). */
  demonstrations?: number | Demonstration[]
}

export interface ScoreResponse {
  choices: {
    choice: string
    /** Log-probability of the choice and the line end after it, given question and passages. */
    logprob: number
    tokens: number
    /** Softmax of the log-probabilities over the choices. */
    probability: number
  }[]
  /** Index of the most probable choice; null where there were no passages. */
  best: number | null
  /** Why there is no answer: no_passages, none were found (or supplied). null where there is one. */
  reason: 'no_passages' | null
  evidence: Evidence[]
  model: {
    reader: string
    retriever: string | null
  }
  index: IndexVersion | null
}

export interface SearchRequest {
  /** What to look for. */
  query: string
  /** A collection: a table of the index. Default: the service's (CEPE_TABLE), or the first of the key's, where that is bound to others. */
  collection?: string
  k?: number
  filter?: Filter
  /** dense: Contriever. text: BM25. hybrid: both, their scores fused with a weight measured on the corpus. Default: the service's setting (CEPE_RETRIEVAL). */
  method?: 'dense' | 'text' | 'hybrid'
  /** Find more passages than are kept, and keep those that fit the question best (ordered as by POST /v1/rerank). Scores stay the search's. Default: false. */
  rerank?: boolean
}

export interface SearchResponse {
  passages: {
    id: string
    title: string
    text: string
    /** Where the passage came from, if the corpus says so: a URL, a file. */
    source?: string
    metadata?: PassageMetadata
    /** Where the file is to be had that the passage was taken from, by its name (CEPE_SERVE_FILES). */
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
  /** Where it came from; usable as a filter. */
  source?: string
  metadata?: PassageMetadata
  /** Where the file is to be had that the passage was taken from, by its name (CEPE_SERVE_FILES). */
  file?: string
}

export interface SuppliedPassage {
  id?: string
  title: string
  /** The passage. */
  text: string
  /** Retrieval score (replug weighs passages by it). */
  score?: number
  /** Where it came from; comes back with the evidence. */
  source?: string
  metadata?: PassageMetadata
}

/** The next part of the answer: all of them joined are the answer. */
export interface TokenEvent {
  text: string
}

export interface UpsertPassagesRequest {
  passages: Passage[]
  /** Cut each into passages of about 100 words, "id#1", "id#2", ..., as `cepe index add --split` does. Default: false. */
  split?: boolean
}

export interface UpsertPassagesResponse {
  /** Passages written. */
  upserted: number
  /** Passages known already: neither embedded nor written. */
  unchanged: number
  /** Tokens (the retriever's) past what retriever and reader read of each passage, of all together: they are stored, but only a search by words finds them. */
  truncated_tokens: number
  /** The passages that have such tokens. */
  truncated?: {
    id: string
    tokens: number
  }[]
  /** With partial: passages that were not written. */
  rejected?: number
  /** With partial: what became of each passage, in their order. */
  results?: {
    /** Null where the passage has no id that could be read. */
    id: string | null
    status: 'upserted' | 'unchanged' | 'rejected'
    error?: {
      code: string
      message: string
      field?: string
    }
  }[]
}
