import t from 'tap'
import { parseConfig } from '../../models/checkpoint/config/parse.ts'
import { PAPER_QA_DEFAULTS } from '../../models/manifest.ts'
import { protocolOf } from '../../models/protocol.ts'
import { CEPE_CONFIG, LLAMA_CONFIG } from '../fixtures/checkpoint-folder.ts'

function protocol(config: object) {
  const parsed = parseConfig(config)
  if (parsed.architecture !== 'cepe') throw new Error('a reader is expected')
  return protocolOf(parsed)
}

t.test("CEPE is asked by the paper's protocol", (t) => {
  t.same(protocol(CEPE_CONFIG), PAPER_QA_DEFAULTS)
  t.end()
})

t.test('a decoder alone is asked with what its window holds', (t) => {
  const of = (window: number) => protocol({ ...LLAMA_CONFIG, max_position_embeddings: window })
  const usual = { context_tokens: 256, max_new_tokens: 25 }
  t.same(of(8192), { k: 5, k_decoder: 5, demonstrations: 2, ...usual })
  t.same(of(2048), { k: 5, k_decoder: 5, demonstrations: 2, ...usual })
  t.same(of(1024), { k: 3, k_decoder: 3, demonstrations: 0, ...usual })
  t.same(of(512), { k: 1, k_decoder: 1, demonstrations: 0, ...usual })
  t.same(of(256), { k: 1, k_decoder: 1, demonstrations: 0, context_tokens: 165, max_new_tokens: 25 })
  for (const window of [1, 32, 128, 300, 700, 1500, 2022, 2023, 4096]) {
    const { k, demonstrations, context_tokens: context, max_new_tokens: newTokens } = of(window)
    t.ok(k >= 1 && context >= 1 && newTokens >= 1)
    if (window >= 128) t.ok(demonstrations * (context + 66) + k * (context + 2) + newTokens + 64 <= window, `${window} holds its protocol`)
  }
  t.end()
})
