import t from 'tap'
import { resolveDocument } from '../../src/rag/resolve-document.ts'
import { readerManifest } from '../helpers/recording-services.ts'

t.test('a model without encoder reads the end of a long document, and is not asked for the rest', (t) => {
  const manifest = readerManifest(8192)
  const plain = { ...manifest, graphs: { ...manifest.graphs, encoder: null } }
  const source = { text: 'word '.repeat(20_000), title: 'Long' }
  const defaults = { documentTokens: 32_768, chatTemplate: 'none' as const }
  const form = { question: 'which word' }
  t.match(resolveDocument(form, source, plain, defaults), { encoderTokens: 0, tailTokens: 2048 })
  t.match(resolveDocument({ ...form, encoder_tokens: 5 }, source, plain, defaults), { encoderTokens: 5 }, 'refused by the reader')
  t.match(resolveDocument(form, source, manifest, defaults), { encoderTokens: null })
  t.end()
})
