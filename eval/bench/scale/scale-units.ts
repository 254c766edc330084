/** Measured cost of one unit of work, with its command and the results file that contains it. */
export interface UnitCost {
  readonly value: number
  readonly unit: string
  readonly what: string
  readonly command: string
  readonly file: string
  /** Quote from the results file. */
  readonly words: string
}

const INDEX = { command: 'npm run bench:index -- --rows 100000', file: 'eval/bench/results/index-2026-11-20.md' }
const READER = { command: 'npm run bench:reader', file: 'eval/bench/results/reader-2026-11-20.md' }
const DTYPES = { command: 'npm run bench:reader', file: 'eval/bench/results/reader-2026-11-22.md' }
const SCALE = { command: 'node dist/eval/bench/scale/scale.js --rows 20000', file: 'eval/bench/results/scale-2026-11-22.md' }

/** All factors of the plan. One core of a 2-core AMD EPYC with AVX512-VNNI. */
export const UNIT_COSTS = {
  product: {
    ...READER,
    value: 83,
    unit: 'GFLOP/s a core',
    what: 'large f32 product',
    words: 'Large f32 product (1024 x 2048 x 4096): 83 GFLOP/s',
  },
  weights: { ...READER, value: 20.2, unit: 'GB/s a core', what: 'weights read for a further token', words: 'reads 20.2 GB/s' },
  encoderShare: {
    ...READER,
    value: 0.91,
    unit: 'of the product',
    what: 'an encoder on sorted batches',
    words: '| sorted, at most 1024 padded tokens | 6448 | 1117 | 1.09x | 76 | 0.91 |',
  },
  answerShare: {
    ...READER,
    value: 0.96,
    unit: 'of the limit',
    what: 'a whole answer',
    words: '| whole answer | 23551 | 22674 | 0.96 |',
  },
  int8Encode: {
    ...DTYPES,
    value: 2.63,
    unit: 'times f32',
    what: 'encoding in int8',
    words: '| encode 50 passages of 120 tokens | 2296.7 | 873.6 | 2.63x |',
  },
  int8Answer: {
    ...DTYPES,
    value: 1.98,
    unit: 'times f32',
    what: 'a whole answer in int8',
    words: '| whole answer: 60 passages, 2 demonstrations, 25 tokens | 11740.1 | 5944.1 | 1.98x |',
  },
  planRate: {
    ...INDEX,
    value: 26_434,
    unit: 'passages/s',
    what: 'a corpus checked, hashed and laid out',
    words: '| job: plan (check, hash, lay out, fsync) | 3.8 | 26,434 |',
  },
  writeRate: {
    ...INDEX,
    value: 59_175,
    unit: 'passages/s',
    what: 'vectors written and fsynced',
    words: '| job: the same without that | 1.7 | 59,175 |',
  },
  verifyRate: {
    ...INDEX,
    value: 4_163,
    unit: 'passages/s',
    what: 'a table read back, indexed, recall measured',
    words: '| job: read back, index, measure recall | 24.0 | 4,163 |',
  },
  searchFew: {
    ...INDEX,
    value: 7.1,
    unit: 'ms',
    what: 'p50 of a search reading 10 of 316 partitions of 100,000 passages',
    words: '| ivf_rq, 316 partitions, nprobes 10, refine 10 | 0.962 | 7.1 | 9.5 |',
  },
  searchMany: {
    ...INDEX,
    value: 8.5,
    unit: 'ms',
    what: 'p50 of a search reading 200 of them',
    words: '| ivf_rq, 316 partitions, nprobes 200, refine 10 | 0.962 | 8.5 | 11.8 |',
  },
  vectorFile: { ...SCALE, value: 1571, unit: 'bytes a passage', what: 'a vector file', words: '| vector file | 1571 |' },
  vectorIndex: { ...SCALE, value: 124, unit: 'bytes a passage', what: 'the vector index', words: '| vector index | 124 |' },
  otherIndexes: { ...SCALE, value: 291, unit: 'bytes a passage', what: 'the other indexes', words: '| other indexes | 291 |' },
} as const satisfies Record<string, UnitCost>

/** Assumptions without a measurement in this repository. */
export const GIVEN = {
  /** Tokens of a passage of psgs_w100.tsv (100 words), including special tokens. */
  passageTokens: 150,
  /** Bytes of text and title of such a passage. */
  passageBytes: 640,
  /** US dollars per core hour; see --price. */
  corePrice: 0.04,
  /** Partitions read per question, of 4,096. */
  nprobes: 200,
} as const
