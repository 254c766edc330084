import { join } from 'node:path'
import { Type } from 'typebox'
import { unsupported } from '../../errors.ts'
import { QaDefaultsSchema } from '../../manifest.ts'
import type { ModelConfig } from './config.ts'
import { parseContriever, parseModernBert, parseReranker } from './families/bert.ts'
import { parseGemma } from './families/gemma.ts'
import { parseCepe, parseDecoderOnly, parseMistral, parseQwen } from './families/llama.ts'
import { parseAs, readJson } from './json.ts'

const ArchitecturesSchema = Type.Object({ architectures: Type.Array(Type.String(), { minItems: 1 }) })

const PARSERS = new Map<string, (value: unknown) => ModelConfig>([
  ['LlamaForCausalContextLM', parseCepe],
  ['LlamaForCausalLM', (value) => parseDecoderOnly(value)],
  ['MistralForCausalLM', parseMistral],
  ['Qwen2ForCausalLM', (value) => parseQwen(value, 2)],
  ['Qwen3ForCausalLM', (value) => parseQwen(value, 3)],
  ['Gemma2ForCausalLM', (value) => parseGemma(value, 2)],
  ['Gemma3ForCausalLM', (value) => parseGemma(value, 3)],
  ['Contriever', (value) => parseContriever(value, 'bert')],
  ['BertModel', (value) => parseContriever(value, 'bert')],
  ['XLMRobertaModel', (value) => parseContriever(value, 'roberta')],
  ['ModernBertModel', parseModernBert],
  ['BertForSequenceClassification', (value) => parseReranker(value, 'bert')],
  ['XLMRobertaForSequenceClassification', (value) => parseReranker(value, 'roberta')],
])

/**
 * Validates and normalises a Hugging Face config.json.
 * @throws checkpoint_invalid (a field missing, of the wrong type, or contradicting another) and unsupported (another architecture or
 * variant), naming the field and what is supported
 */
export function parseConfig(value: unknown): ModelConfig {
  const { architectures } = parseAs(ArchitecturesSchema, value, 'config.json')
  for (const architecture of architectures) {
    const parse = PARSERS.get(architecture)
    if (parse !== undefined) return parse(value)
  }
  const message = `config.json: architectures is ${JSON.stringify(architectures)}; supported are ${[...PARSERS.keys()].join(', ')}: take a checkpoint of one of these`
  throw unsupported(message, 'architectures')
}

/**
 * Reads a checkpoint folder's question answering settings: qa_config.json, raw and validated. Both are undefined without that file.
 * @throws checkpoint_invalid naming the wrong field
 */
export async function readQaDefaults(dir: string) {
  const qaConfig = await readJson(join(dir, 'qa_config.json'))
  return { qaConfig, qaDefaults: qaConfig === undefined ? undefined : parseAs(QaDefaultsSchema, qaConfig, 'qa_config.json') }
}
