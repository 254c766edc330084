export interface PromptPassage {
  readonly title: string
  readonly text: string
}

/** A worked example before the question, with its passage. */
export interface Demonstration {
  readonly question: string
  readonly answer: string
  readonly passage?: PromptPassage
}

export const BLOCK_SEPARATOR = '\n\n'

/** `Document (Title: {title}): {text}`: a passage for decoder and encoder (paper, section 4.2). */
export function renderPassage({ title, text }: PromptPassage): string {
  return `Document (Title: ${title}): ${text}`
}

export const QUESTION_START = 'Question:'

/** `Question: {question}\nAnswer:`; the model continues with a space, the answer and a newline. */
export function renderQuestion(question: string): string {
  return `${QUESTION_START} ${question}\nAnswer:`
}

/** Renders a demonstration after its passage. */
export function renderDemonstration({ question, answer, passage }: Demonstration): string {
  return [...(passage ? [renderPassage(passage)] : []), `${renderQuestion(question)} ${answer}`].join(BLOCK_SEPARATOR)
}

/** The decoder's prompt: demonstrations, then the decoder's passages in retrieval order, then the question. */
export function renderPrompt(demonstrations: readonly string[], passages: readonly string[], question: string): string {
  return [...demonstrations, ...passages, renderQuestion(question)].join(BLOCK_SEPARATOR)
}
