export interface ScrollsSet {
  /** Noun for the document. */
  readonly kind: string
  readonly instruction: string
  /** Kind of query beside the document. */
  readonly query: 'question' | 'choices' | 'query' | null
  readonly metric: 'f1' | 'rouge_l' | 'accuracy'
  readonly maxNewTokens: number
  readonly minNewTokens: number
  /** A line end ends short answers, but not summaries. */
  readonly stopAtLineEnd: boolean
  readonly sampling: boolean
  /** Rows of one id are scored separately; otherwise they are references of one question. */
  readonly eachRow?: boolean
}

const QA = { maxNewTokens: 50, minNewTokens: 0, stopAtLineEnd: true, sampling: false } as const
const SUMMARY = { query: null, metric: 'rouge_l', maxNewTokens: 1024, minNewTokens: 0, stopAtLineEnd: false, sampling: false } as const

export const SETS = {
  narrative_qa: {
    ...QA,
    kind: 'Story',
    query: 'question',
    metric: 'f1',
    instruction:
      'You are given a story, which can be either a novel or a movie script, and a question. Answer the question as concisely as you can, using a single phrase if possible.\n\n',
  },
  qasper: {
    ...QA,
    kind: 'Article',
    query: 'question',
    metric: 'f1',
    eachRow: true,
    instruction:
      'You are given a scientific article and a question. Answer the question as concisely as you can, using a single phrase or sentence if possible. If the question cannot be answered based on the information in the article, write "unanswerable". If the question is a yes/no question, answer "yes", "no", or "unanswerable".\n\n',
  },
  quality: {
    ...QA,
    kind: 'Story',
    query: 'choices',
    metric: 'accuracy',
    instruction:
      'You are provided a story and a multiple-choice question with 4 possible answers (marked by A, B, C, D). Choose the best answer by writing its corresponding letter (either A, B, C, or D).\n\n',
  },
  gov_report: {
    ...SUMMARY,
    kind: 'Report',
    minNewTokens: 10,
    sampling: true,
    // The published evaluation's own wording, unlike the other sets.
    instruction: 'Instruction: You are given a report by a government agency. Write a one-page summary of the report.\n',
  },
  summ_screen_fd: {
    ...SUMMARY,
    kind: 'Episode Script',
    instruction: 'You are given a script of a TV episode. Summarize the episode in a paragraph.\n\n',
  },
  qmsum: {
    ...SUMMARY,
    kind: 'Transcript',
    query: 'query',
    instruction:
      'You are given a meeting transcript and a query containing a question or instruction. Answer the query in one or more sentences.\n\n',
  },
} as const satisfies Readonly<Record<string, ScrollsSet>>
export const SET_NAMES = Object.keys(SETS) as (keyof typeof SETS)[]

export function documentHead({ kind }: ScrollsSet): string {
  return `${kind}:\n`
}

/** Text after the document: a blank line (or the truncation notice of a decoder alone), the instruction, the query. */
export function questionText({ instruction, query, kind }: ScrollsSet, asked: string, omitted: boolean): string {
  const join = omitted ? `... [The rest of the ${kind.toLowerCase()} is omitted]\n\n` : '\n\n'
  const questions = {
    question: `Question:\n${asked}\n\nAnswer:\n`,
    choices: `Question and Possible Answers:\n${asked}\n\nAnswer:`,
    query: `Query:\n${asked}\n\nAnswer:\n`,
  }
  return `${join}${instruction}${query === null ? 'Summary:\n' : questions[query]}`
}
