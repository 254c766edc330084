import { mulberry32 } from '../../base/random.ts'
import type { LlamaConfig, RopeScaling } from '../checkpoint/config/config.ts'

export type Rotary = Pick<LlamaConfig, 'headDim' | 'window' | 'ropeTheta' | 'ropeScaling'>

/**
 * Angle per position of each of the head_dim/2 rotated pairs: theta^(-2i/head_dim), scaled as configured.
 *
 * linear (position interpolation, Chen et al. 2023): all divided by the factor s.
 *
 * yarn (Peng et al. 2023, "NTK-by-parts", section 3.2): pair i turns r(i) = L f(i) / 2 pi times over the original window L.
 * Pairs that turn more than betaFast times keep f(i), those below betaSlow get f(i) / s, with a linear ramp over the pair
 * index in between. The ramp's ends are where r equals betaFast and betaSlow,
 *   d(beta) = head_dim ln(L / (2 pi beta)) / (2 ln theta),
 * rounded outwards to whole pairs, as the authors' code does.
 *
 * llama3 (LLaMA 3.1's published configuration): the same idea with the ramp linear in the number of turns, from
 * low_freq_factor to high_freq_factor, and no change of amplitude.
 *
 * dynamic: those of a text within the original window; see {@link frequenciesByLength}.
 */
export function rotaryFrequencies({ headDim, ropeTheta, ropeScaling: scaling }: Rotary): Float64Array {
  const frequencies = Float64Array.from({ length: headDim / 2 }, (_, i) => ropeTheta ** ((-2 * i) / headDim))
  if (scaling === null || scaling.type === 'randomised' || scaling.type === 'xpos' || scaling.type === 'dynamic') return frequencies
  if (scaling.type === 'linear') return changedBasis(frequencies, scaling)
  if (scaling.type === 'llama3') {
    return frequencies.map((f) => {
      const turns = (scaling.originalWindow * f) / (2 * Math.PI)
      const kept = Math.min(Math.max((turns - scaling.lowTurns) / (scaling.highTurns - scaling.lowTurns), 0), 1)
      return (f / scaling.factor) * (1 - kept) + f * kept
    })
  }
  const pairTurning = (turns: number): number =>
    (headDim * Math.log(scaling.originalWindow / (turns * 2 * Math.PI))) / (2 * Math.log(ropeTheta))
  const low = Math.max(Math.floor(pairTurning(scaling.betaFast)), 0)
  const high = Math.min(Math.ceil(pairTurning(scaling.betaSlow)), headDim - 1)
  // An empty ramp is a step.
  const width = Math.max(high - low, 0.001)
  return frequencies.map((f, i) => {
    const interpolated = Math.min(Math.max((i - low) / width, 0), 1)
    return (f / scaling.factor) * interpolated + f * (1 - interpolated)
  })
}

/** Giraffe's bases as computed by its code: the paper's formula counts pairs from 1 and would zero the last. */
function changedBasis(frequencies: Float64Array, scaling: Extract<RopeScaling, { type: 'linear' }>): Float64Array {
  const { factor, power = null, truncateAt = null } = scaling
  return frequencies.map((frequency, i) => {
    const scaled = (frequency / factor) * (power === null ? 1 : (1 - i / frequencies.length) ** power)
    if (truncateAt === null || scaled >= truncateAt) return scaled
    return scaled >= truncateAt / 8 ? truncateAt / 16 : 0
  })
}

/** Position of each token of the window: its index, or a sum of random steps. */
function positions({ window, ropeScaling: scaling }: Rotary): Float64Array {
  if (scaling?.type !== 'randomised') return Float64Array.from({ length: window }, (_, position) => position)
  const random = mulberry32(scaling.seed)
  let sum = 0
  return Float64Array.from({ length: window }, (_, position) =>
    position === 0 ? 0 : (sum += scaling.least + (1 - scaling.least) * random()),
  )
}

/** Cosines or sines of each position's angles, [window, head_dim/2], times YaRN's attention factor: scores are scaled by its square. */
export function rotaryTable(config: Rotary, wave: (angle: number) => number): Float32Array {
  const frequencies = rotaryFrequencies(config)
  const amplitude = config.ropeScaling?.type === 'yarn' ? config.ropeScaling.attentionFactor : 1
  const table = new Float32Array(config.window * frequencies.length)
  for (const [index, position] of positions(config).entries()) {
    for (const [i, frequency] of frequencies.entries()) table[index * frequencies.length + i] = amplitude * wave(position * frequency)
  }
  return table
}

/** Frequencies of texts of originalWindow, originalWindow + 1, ... window tokens, [lengths, head_dim/2]; the first also for shorter ones. */
export function frequenciesByLength(config: Rotary, { factor, originalWindow }: Extract<RopeScaling, { type: 'dynamic' }>): Float32Array {
  const { headDim, window, ropeTheta } = config
  const rows = Array.from({ length: lengthsOf(config, originalWindow) }, (_, i) => {
    const growth = (factor * (originalWindow + i)) / originalWindow - (factor - 1)
    return [...rotaryFrequencies({ headDim, window, ropeTheta: ropeTheta * growth ** (headDim / (headDim - 2)), ropeScaling: null })]
  })
  return Float32Array.from(rows.flat())
}

/** Rows of frequenciesByLength. */
export function lengthsOf({ window }: Pick<Rotary, 'window'>, originalWindow: number): number {
  return Math.max(window - originalWindow, 0) + 1
}

/** xPos: factor of each pair of a key from one position to the next; queries are divided by it. */
export function keyGrowth({ headDim }: Pick<Rotary, 'headDim'>, { scaleBase }: Extract<RopeScaling, { type: 'xpos' }>): Float64Array {
  return Float64Array.from({ length: headDim / 2 }, (_, j) => ((2 * j + 0.4 * headDim) / (1.4 * headDim)) ** (-1 / scaleBase))
}

/**
 * Cosines or sines of every position's angles times xPos's scales of queries (`sign` -1) or keys (1), [window, head_dim/2]. Positions are
 * relative to the middle of the window, so that neither end grows large; scores depend on differences only.
 */
export function scaledTable(
  config: Rotary,
  xpos: Extract<RopeScaling, { type: 'xpos' }>,
  wave: (angle: number) => number,
  sign: 1 | -1,
): Float32Array {
  const growth = keyGrowth(config, xpos)
  const middle = Math.floor(config.window / 2)
  return rotaryTable(config, wave).map((value, at) => {
    const position = Math.floor(at / growth.length)
    return value * (growth[at % growth.length] as number) ** (sign * (position - middle))
  })
}
