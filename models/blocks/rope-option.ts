import { unsupported } from '../errors.ts'
import type { LlamaConfig, RopeScaling } from '../checkpoint/config/config.ts'
import { yarn } from '../checkpoint/config/families/rope.ts'

/** Changes of a build to the decoder's positions; part of the built model's name, since results differ. */
export interface RopeOption {
  /** Such as `linear:8`, `yarn:16`, `power:0.5`, `truncated:2048`, `linear:2+truncated:2048`, `randomised:0.0625`, `xpos:8192`, `dynamic:2`. */
  readonly rope?: string | undefined
  /** Decoder positions, instead of the checkpoint's max_position_embeddings. */
  readonly window?: number | undefined
}

/** Seed of the random steps, fixed so that a name identifies one model. */
const SEED = 0
const KINDS =
  'none, linear:<factor>, yarn:<factor>, power:<exponent>, truncated:<window>, randomised:<least step>, xpos:<scale base>, xpos-halves:<scale base>, dynamic:<factor>; linear goes with power and truncated, joined by "+"'

/** Scalings that go with no other, by kind; undefined for a number that the kind does not take. */
const ALONE = new Map<string, (number: number, originalWindow: number) => RopeScaling | undefined>([
  ['yarn', yarn],
  ['randomised', (least) => (least < 1 ? { type: 'randomised', least, seed: SEED } : undefined)],
  ['xpos', (scaleBase) => ({ type: 'xpos', scaleBase, interleaved: true })],
  ['xpos-halves', (scaleBase) => ({ type: 'xpos', scaleBase, interleaved: false })],
  ['dynamic', (factor, originalWindow) => (factor >= 1 ? { type: 'dynamic', factor, originalWindow } : undefined)],
])

/** Applies the option's rotary scaling and window to the decoder's config. @throws unsupported naming the kind and the alternatives */
export function withRope(decoder: LlamaConfig, { rope, window }: RopeOption): LlamaConfig {
  return {
    ...decoder,
    ...(rope !== undefined && { ropeScaling: parseRopeOption(rope, decoder.window) }),
    ...(window !== undefined && { window }),
  }
}

/** `name` with the option's changes, such as `CEPE-LLaMA-2-7B+linear:8+window:32768`. */
export function ropeName(name: string, { rope, window }: RopeOption): string {
  return [name, ...(rope === undefined ? [] : [rope]), ...(window === undefined ? [] : [`window:${window}`])].join('+')
}

/** @throws unsupported naming the kind and the alternatives */
export function parseRopeOption(text: string, originalWindow: number): RopeScaling | null {
  if (text === 'none') return null
  const numbers = new Map<string, number>()
  for (const part of text.split('+')) {
    const [kind = '', value = '', ...rest] = part.split(':')
    const number = Number(value)
    if (!(number > 0 && number < Infinity) || rest.length > 0 || numbers.has(kind)) throw refused(part)
    numbers.set(kind, number)
  }
  const [[first, number] = ['', 0]] = numbers
  const alone = numbers.size === 1 ? ALONE.get(first)?.(number, originalWindow) : undefined
  if (alone) return alone
  const { linear: factor = 1, power = null, truncated, ...others } = Object.fromEntries(numbers)
  const [wrong] = Object.keys(others)
  if (wrong !== undefined) throw refused(wrong)
  return { type: 'linear', factor, power, truncateAt: truncated === undefined ? null : (2 * Math.PI) / truncated }
}

function refused(part: string): Error {
  return unsupported(`--rope ${JSON.stringify(part)} is not supported; there are ${KINDS}`, 'rope')
}
