import { CodedError, messageOf } from '../../../base/errors.ts'
import type { Log } from '../../inference/log.ts'
import { loadCalibration, type Calibration } from './calibration.ts'

/** Possible calibration files. */
export interface CalibrationFiles {
  /** From the setting; '' for none. */
  readonly named?: string
  /** Of the live table; absent if its index has no folder. */
  readonly own?: string
  /** Of the shipped model and corpus. */
  readonly shipped: string
}

/**
 * Chooses the calibration for a reader's answers: the configured one, else the table's own, else the shipped one. A calibration of another
 * reader is ignored, with a warning unless it is the shipped one; so is an unusable file of the table.
 * @param reader id of the loaded model
 * @throws config_invalid if the configured file is missing or invalid
 */
export async function chooseCalibration(
  { named, own, shipped }: CalibrationFiles,
  reader: string,
  log?: Log,
): Promise<Calibration | undefined> {
  if (named === '') return undefined
  if (named !== undefined) {
    const calibration = await loadCalibration(named)
    if (calibration === undefined)
      throw new CodedError(
        'config_invalid',
        `There is no calibration at ${named}: create it (cepe calibrate), or leave CEPE_CALIBRATION empty.`,
        { field: 'CEPE_CALIBRATION' },
      )
    return ofReader(calibration, named, reader, log)
  }
  const found = own === undefined ? undefined : ofReader(await usable(own, log), own, reader, log)
  return found ?? ofReader(await usable(shipped, log), shipped, reader)
}

function usable(file: string, log?: Log): Promise<Calibration | undefined> {
  return loadCalibration(file).catch((error: unknown) => {
    log?.('warn', `This calibration is not used: ${messageOf(error)}`)
    return undefined
  })
}

function ofReader(calibration: Calibration | undefined, file: string, reader: string, log?: Log): Calibration | undefined {
  if (calibration === undefined || calibration.reader === reader) return calibration
  log?.('warn', `The calibration ${file} is of ${calibration.reader}, not of ${reader}, and is not used: create it again (cepe calibrate).`)
  return undefined
}
