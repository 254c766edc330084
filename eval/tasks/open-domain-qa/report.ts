import type { TopLevelSpec } from 'vega-lite'
import { figure, heading, text, type Block } from '../../report/blocks.ts'
import { problemBlock, type Report } from '../../report/report.ts'
import { fileText, groupTables, provenance } from '../../run/report.ts'
import { atLargestK, exactMatchOverK, latencyBars, recallCurve, riskCoverageCurves } from './figures.ts'
import { settingName, settingsOf } from './protocol.ts'
import type { StoredRun } from './record.ts'
import { summarise, type Summary } from './summary.ts'
import { latencyTable, metricsTable, type Published, recallTable, resultsTable, withInterval, worstExamples } from './tables.ts'

const WORST_EXAMPLES = 15

interface SummarisedRun extends StoredRun {
  readonly name: string
  readonly summary: Summary
}

/** The report of one or several runs (one dataset each, as columns of one table). `lead` comes first. */
export function buildReport(
  runs: readonly StoredRun[],
  published: Published,
  { title = 'Open-domain question answering', lead = [] }: { title?: string; lead?: readonly Block[] } = {},
): Report {
  const named = runs.map((run, i): SummarisedRun => ({ ...run, name: nameOf(run, i, runs), summary: summarise(run.manifest, run.records) }))
  const tableRuns = named.map(({ name, manifest: { subject }, summary }) => ({
    dataset: name,
    summary,
    // By the checkpoint's name, in any precision.
    published: published.scores.filter(({ dataset, model }) => dataset === subject.dataset && model === subject.reader.split('@')[0]),
  }))
  const blocks: Block[] = [
    heading(1, title),
    text(modelsOf(runs)),
    ...lead,
    heading(2, 'Results'),
    text(
      'Exact match in percent with 95 % Wilson intervals over questions; closed-book has no passages and is in the first column of its dataset.',
    ),
    resultsTable(tableRuns),
    text(
      tableRuns.some((run) => run.published.length > 0)
        ? `Published: ${published.source}.`
        : 'No published scores are known for this model and dataset.',
    ),
    ...named.flatMap((run, i) => runBlocks(run, `run-${i + 1}`)),
  ]
  return { title, blocks }
}

/** The dataset's name; where several runs share it, with the reader, or a number if they share that too. */
function nameOf({ manifest: { subject } }: StoredRun, position: number, runs: readonly StoredRun[]): string {
  const { dataset, reader } = subject
  const same = runs.filter((run) => run.manifest.subject.dataset === dataset)
  if (same.length === 1) return dataset
  const ofReader = same.filter((run) => run.manifest.subject.reader === reader)
  return `${dataset} (${ofReader.length === 1 ? reader : `run ${position + 1}`})`
}

/** Names the models whose scores are shown. */
function modelsOf(runs: readonly StoredRun[]): string {
  const subjects = runs.map(({ manifest }) => manifest.subject)
  const distinct = (names: readonly string[]): string => [...new Set(names)].join(', ')
  const retrievers = subjects.map(({ retriever }) => retriever ?? 'none')
  return `Reader: ${distinct(subjects.map(({ reader }) => reader))}. Retriever: ${distinct(retrievers)}.`
}

function runBlocks({ name, manifest, records, summary }: SummarisedRun, prefix: string): Block[] {
  const drawn = (kind: string, caption: string, spec: TopLevelSpec) => figure(`${prefix}-${kind}`, caption, spec)
  const best = atLargestK(summary.settings)
  const shown = best.find(({ method }) => method.startsWith('cepe')) ?? best[0]
  return [
    heading(2, `Run: ${name}`),
    text(
      `${summary.scored} of ${summary.asked - manifest.data.unanswerable} questions are scored, all of them in every setting${summary.unanswerable > 0 ? `; ${summary.unanswerable} questions without an answer in the corpus are asked too` : ''}.`,
    ),
    ...serviceText(manifest),
    problemBlock(summary.problems),
    drawn(
      'exact-match',
      'Exact match over the number of retrieved passages, one line per mode, with 95 % intervals.',
      exactMatchOverK(summary.settings),
    ),
    metricsTable(summary),
    ...(summary.retrieval
      ? [
          heading(3, 'Retrieval'),
          recallTable(summary.retrieval),
          drawn('recall', 'Share of questions with an answer among the first k passages.', recallCurve(summary.retrieval.curve)),
        ]
      : []),
    heading(3, 'Confidence'),
    text('Share of wrong answers when only the most confident ones are given.'),
    drawn('risk-coverage', 'Risk over coverage of the confidence.', riskCoverageCurves(summary.settings)),
    ...groupTables(
      best.map((setting) => ({ name: settingName(setting), groups: setting.groups })),
      { name: 'exact_match', label: 'Exact match', what: 'questions', leastValues: 1, show: withInterval },
    ),
    heading(3, 'Latency'),
    text(
      'Encoder states and retrieval are reused across k and modes, as a service with a warm cache would: the first setting that reads a passage pays for encoding it.',
    ),
    drawn('latency', 'Mean time by stage.', latencyBars(summary)),
    latencyTable(summary),
    ...(shown ? [heading(3, `Most confident wrong answers (${settingName(shown)})`), worstExamples(records, shown, WORST_EXAMPLES)] : []),
    ...measuredBlocks(manifest),
  ]
}

/** How the service answers by itself, and whether the run asked it so. */
function serviceText({ subject: { protocol }, service }: StoredRun['manifest']): Block[] {
  if (service === undefined) return []
  const { mode, k, k_decoder: kDecoder, demonstrations, context_tokens: tokens, max_new_tokens: most, chat_template: template } = service
  const asked = settingsOf(protocol).find((setting) => setting.request.mode === mode && setting.k === k)
  const pairs = [
    [protocol.shots, demonstrations],
    [protocol.k_decoder, kDecoder],
    [protocol.context_tokens, tokens],
    [protocol.max_new_tokens, most],
  ] as const
  // Sampled demonstrations are not those of the service, however many.
  const differs =
    protocol.packing !== undefined || (protocol.shots ?? 0) > 0 || pairs.some(([given, own]) => given !== null && given !== own)
  const isLeftToModel = protocol.packing === undefined && pairs.every(([given]) => given === null)
  const advice = isLeftToModel ? '--protocol model without --modes and --k does' : '--protocol model alone does'
  const wrapped = template === undefined || template === 'none' ? '' : ` and chat template ${template}`
  return [
    text(
      `The service itself would have answered in mode ${mode} with k = ${k}${wrapped}: ${demonstrations} demonstrations, ${kDecoder} passages in the decoder, ${tokens} tokens per passage, ${most} new tokens at most. ${asked !== undefined && !differs ? `That is the setting ${settingName(asked)} here.` : `No setting here is asked so; ${advice}.`}`,
    ),
  ]
}

function measuredBlocks(manifest: StoredRun['manifest']): Block[] {
  const { subject, service } = manifest
  const { protocol, index } = subject
  const { shots, seed } = protocol
  const orDefault = (value: number | null) => (value === null ? "the model's own" : String(value))
  const file = (named: { file: string; sha256: string } | null) => (named ? fileText(named) : 'none')
  const demonstrations = shots === 0 ? 'none' : `${shots} per question from ${file(subject.train)}, seed ${seed}`
  return provenance(
    manifest,
    [
      ['retriever', subject.retriever ?? 'passages supplied with the questions'],
      ['index', index ? `${index.table}, version ${index.version}, ${index.passages} passages` : 'none'],
      ['questions', `${file(subject.questions)}${subject.limit === null ? '' : `, ${subject.limit} drawn with seed ${seed}`}`],
      ['demonstrations', shots === null ? `the service's own${service ? `: ${service.demonstrations}` : ''}` : demonstrations],
      ['unanswerable questions', file(subject.unanswerable)],
      ['passages in the decoder', orDefault(protocol.k_decoder)],
      ['tokens per passage', orDefault(protocol.context_tokens)],
      ['new tokens at most', orDefault(protocol.max_new_tokens)],
      ['retrieval', protocol.retrieval],
    ],
    [
      'Greedy decoding; an answer ends at a line break or the end token.',
      "Recall: DPR's token-span match of a gold answer in the passage's text.",
    ],
  )
}
