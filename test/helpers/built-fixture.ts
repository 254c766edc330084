import { cp, writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import path from 'node:path'
import type { Test } from 'tap'
import { buildModel } from '../../models/build.ts'
import { parseConfig } from '../../models/checkpoint/config-parse.ts'
import { readJson } from '../../models/checkpoint/json.ts'
import { readGolden, type Golden } from '../../models/golden.ts'
import type { Dtype } from '../../models/manifest.ts'
import { root } from './root.ts'

const OWN = path.join(root, 'test/fixtures/recipe')
const SHARED = path.join(root, '../shared/fixtures/reference')

/** Checkpoint folder with golden files: the project's own, made by the recipe's model, else the reference's where that is at hand. */
export function fixtureDir(name: string): string | undefined {
  return [OWN, SHARED].map((folder) => path.join(folder, name)).find((folder) => existsSync(folder))
}

export function goldenOf(name: string, file: string): Promise<Golden> {
  return readGolden(path.join(fixtureDir(name) ?? name, file))
}

/** A text that the fixture's tokenizer turns into these ids. */
export function wordsOf(ids: readonly number[]): string {
  return ids.map((id) => `w${id}`).join(' ')
}

/**
 * Builds such a checkpoint into the test's folder, with a tokenizer of the words w0, w1, ..., one per id
 * (the fixtures are of random weights and have none).
 * @returns the built model's folder
 */
export async function builtFixture(t: Test, name: string, dtype: Dtype = 'f32'): Promise<string> {
  const source = fixtureDir(name)
  if (source === undefined) throw new Error(`no fixture ${name}`)
  const folder = t.testdir({})
  const checkpointDir = path.join(folder, 'checkpoint')
  await cp(source, checkpointDir, { recursive: true })
  return buildWithWords(checkpointDir, path.join(folder, 'built'), dtype)
}

/** Adds the tokenizer of words to a checkpoint and builds it. @returns outDir */
export async function buildWithWords(checkpointDir: string, outDir: string, dtype: Dtype): Promise<string> {
  const config = parseConfig(await readJson(path.join(checkpointDir, 'config.json')))
  await writeFile(
    path.join(checkpointDir, 'tokenizer.json'),
    JSON.stringify(
      config.architecture === 'cepe' ? wordTokenizer(config.decoder.vocabSize) : wordTokenizer(config.vocabSize, ['[CLS]', '[SEP]']),
    ),
  )
  await buildModel({ checkpointDir, outDir, dtype })
  return outDir
}

/** `last` are the words of the highest ids. */
function wordTokenizer(size: number, last: readonly string[] = []): object {
  return {
    version: '1.0',
    added_tokens: [],
    normalizer: null,
    pre_tokenizer: { type: 'WhitespaceSplit' },
    post_processor: null,
    decoder: { type: 'WordPiece', prefix: '##', cleanup: false },
    model: {
      type: 'WordPiece',
      unk_token: 'w0',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(Array.from({ length: size }, (_, id) => [last[id - size + last.length] ?? `w${id}`, id])),
    },
  }
}
