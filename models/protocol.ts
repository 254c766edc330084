import type { CepeConfig } from './checkpoint/config.ts'
import { PAPER_QA_DEFAULTS, type CepeManifest, type QaDefaults } from './manifest.ts'

/** Passages in the prompt of a decoder alone, at most: it reads each of them anew for every question. */
const MOST_PASSAGES = 5
/** Tokens that a question takes beside its passages, a worked example beside its passage, and the blank lines between blocks. */
const QUESTION_TOKENS = 64
const SEPARATOR_TOKENS = 2

/**
 * How questions are asked of a model whose checkpoint does not say. CEPE: as in the paper. A decoder alone has no other place
 * for passages than its prompt: as many as the window holds beside two worked examples, five at most; fewer, without examples,
 * where the window is small.
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

/** The mode in which a model is asked where a request does not choose. */
export function defaultMode({ graphs }: Pick<CepeManifest, 'graphs'>): 'cepe' | 'decoder-only' {
  return graphs.encoder === null ? 'decoder-only' : 'cepe'
}
