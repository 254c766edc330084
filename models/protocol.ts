import type { CepeConfig } from './checkpoint/config/config.ts'
import { PAPER_QA_DEFAULTS, type CepeManifest, type QaDefaults } from './manifest.ts'

/** Maximum passages in the prompt of a decoder without encoder, which reads each of them again for every question. */
const MOST_PASSAGES = 5
/** Tokens reserved for a question without its passages, or a worked example without its passage, and for a separator. */
const QUESTION_TOKENS = 64
const SEPARATOR_TOKENS = 2

/**
 * Question protocol of a model whose checkpoint has none. CEPE: as in the paper. A decoder without encoder has passages in its prompt only:
 * as many as fit the window with two worked examples, five at most; fewer, without examples, for a small window.
 */
export function protocolOf({ encoder, decoder }: CepeConfig): QaDefaults {
  if (encoder !== null) return PAPER_QA_DEFAULTS
  const newTokens = Math.min(PAPER_QA_DEFAULTS.max_new_tokens, Math.max(1, decoder.window >> 1))
  const room = decoder.window - newTokens - QUESTION_TOKENS
  const contextTokens = Math.max(1, Math.min(PAPER_QA_DEFAULTS.context_tokens, room - SEPARATOR_TOKENS))
  const passage = contextTokens + SEPARATOR_TOKENS
  const examples = PAPER_QA_DEFAULTS.demonstrations * (passage + QUESTION_TOKENS)
  const holdsAll = room >= examples + MOST_PASSAGES * passage
  const passages = holdsAll ? MOST_PASSAGES : Math.min(MOST_PASSAGES, Math.max(1, Math.floor(room / passage)))
  return {
    k: passages,
    k_decoder: passages,
    demonstrations: holdsAll ? PAPER_QA_DEFAULTS.demonstrations : 0,
    context_tokens: contextTokens,
    max_new_tokens: newTokens,
  }
}

/** The mode in which a model reads passages together: in the prompt if its encoder was only taught to read them one at a time. */
export function jointMode({ graphs, qa_defaults: { mode } }: Pick<CepeManifest, 'graphs' | 'qa_defaults'>): 'cepe' | 'decoder-only' {
  return graphs.encoder === null || mode === 'map-rerank' ? 'decoder-only' : 'cepe'
}

export function defaultMode(manifest: Pick<CepeManifest, 'graphs' | 'qa_defaults'>): 'cepe' | 'decoder-only' | 'map-rerank' {
  return manifest.qa_defaults.mode ?? jointMode(manifest)
}
