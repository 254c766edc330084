import { OPEN_DOMAIN_QA } from '../../run/folder.ts'
import { bestOver, exactMatch, f1, popqaMatch, substringMatch } from '../../metrics/answer.ts'
import type { TaskRun } from '../../run/contract.ts'
import type { TaskManifest, TaskRecord } from '../../run/record.ts'
import { taskData } from '../../run/options.ts'
import { settingName, settingsOf } from './protocol.ts'
import type { EvalRecord, StoredRun } from './record.ts'

/** Open-domain question answering, as its command, comparisons and tables know it. */
export const openDomainQa = { ...taskData(OPEN_DOMAIN_QA), compared: { what: 'questions', digits: 1 } }

/** A run of question answering in the form of every task's: answerable questions, with the scores of every setting. */
export function taskRunOf({ manifest, records }: StoredRun): TaskRun {
  const { subject, data, environment, started_at, resumed } = manifest
  const { version, reader, protocol } = subject
  const files = [subject.questions, subject.passages, subject.train].flatMap((file) => file ?? [])
  const settings = settingsOf(protocol).map(settingName)
  const common: TaskManifest = {
    task: OPEN_DOMAIN_QA,
    environment,
    started_at,
    resumed,
    subject: { version, options: {}, settings, files, reader },
    data: { items: data.answerable, problems: data.problems },
  }
  return { task: openDomainQa, seed: protocol.seed, manifest: common, records: records.filter(({ answerable }) => answerable).map(scored) }
}

function scored({ id, groups, question, answers, predictions, skipped }: EvalRecord): TaskRecord {
  return {
    // Files without ids number their questions.
    id: `${id} ${question}`,
    groups,
    cluster: id,
    ...(skipped && { skipped }),
    results: predictions.map((prediction) => ({
      setting: settingName(prediction),
      output: prediction.answer,
      expected: answers,
      prompt_sha256: prediction.prompt_sha256,
      scores: scoresOf(prediction.answer, answers),
      tokens: { decoder: prediction.prompt_tokens, encoder: prediction.context_tokens, generated: prediction.generated_tokens },
      ms: prediction.timings_ms.total,
    })),
  }
}

/** Scores of one answer, the best over the gold answers. */
export function scoresOf(answer: string, answers: readonly string[]) {
  return {
    exact_match: bestOver(exactMatch, answer, answers),
    f1: bestOver(f1, answer, answers),
    substring_match: bestOver(substringMatch, answer, answers),
    popqa: bestOver(popqaMatch, answer, answers),
  }
}
