import cliProgress from 'cli-progress'
import type { Progress } from '../../service/follow-job.ts'
import { shown } from './shown.ts'

/** Share of the work per line if standard error is not a terminal. */
const LINE_STEP = 0.1

/** Interval of lines if the total is unknown. */
const LINE_MS = 10_000

const { stderr: stream } = process

/** Shows a progress bar on a terminal, otherwise one line per tenth. Written to standard error. */
export function createProgress(title: string, unit: string): Progress {
  return (stream.isTTY ? bar : lines)(shown(title), unit)
}

function bar(title: string, unit: string): Progress {
  const view = new cliProgress.SingleBar(
    {
      stream,
      format: `${title} {bar} {percentage}% | {value}/{total} ${unit} | {detail}ETA {eta_formatted}`,
      barsize: 30,
      hideCursor: true,
      etaBuffer: 50,
    },
    cliProgress.Presets.shades_classic,
  )
  let started = false
  let open = false
  return {
    update(done, total, detail = '') {
      if (total === 0) {
        stream.write(`\r${title}: ${done} ${unit} `)
        open = true
        return
      }
      const payload = { detail: detail === '' ? '' : `${detail} | ` }
      if (!started) {
        view.start(total, done, payload)
        started = true
      }
      view.setTotal(total)
      view.update(done, payload)
    },
    stop() {
      if (started) view.stop()
      if (open) stream.write('\n')
    },
  }
}

function lines(title: string, unit: string): Progress {
  let next = 0
  let last = -Infinity
  return {
    update(done, total, detail = '') {
      if (total === 0) {
        if (done === 0 || performance.now() - last < LINE_MS) return
        last = performance.now()
        stream.write(`${title}: ${done} ${unit}\n`)
        return
      }
      const share = done / total
      if (share < next && done < total) return
      next = (Math.floor(share / LINE_STEP) + 1) * LINE_STEP
      stream.write(`${title}: ${done}/${total} ${unit}${detail === '' ? '' : ` (${detail})`}\n`)
    },
    stop() {},
  }
}
