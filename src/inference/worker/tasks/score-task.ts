import { CodedError } from '../../../../base/errors.ts'
import type { CepeManifest } from '../../../../models/manifest.ts'
import type { ScoreRequest } from '../../contract.ts'
import type { Output, YieldPoint } from '../../protocol.ts'
import { encodeContexts } from '../encoder/encode-contexts.ts'
import type { ReaderModel } from '../decoder/reader-model.ts'
import { score } from '../decoder/step-decoding.ts'
import { scoreStreaming, type MovedKeys } from '../decoder/streaming-llm.ts'

/** Scores continuations of a prompt, read at once or as a stream. @throws model_invalid and unsupported if streaming is not possible */
export async function scoreTask(model: ReaderModel, request: ScoreRequest, yieldPoint: YieldPoint): Promise<Output<'score'>> {
  const { phi } = await encodeContexts(model.encoder, request, yieldPoint)
  return request.streaming
    ? scoreStreaming(await model.stepModel(), request, request.streaming, { rotary: rotaryOf(model.manifest), phi, yieldPoint })
    : score(await model.stepModel(), request, phi, yieldPoint)
}

/** @throws model_invalid if the manifest of an older build lacks the frequencies, unsupported if the model has none */
function rotaryOf({ rotary }: CepeManifest): MovedKeys {
  if (rotary && 'frequencies' in rotary) return rotary
  throw rotary === undefined
    ? new CodedError(
        'model_invalid',
        'The manifest does not contain the rotary frequencies that a streaming cache needs: build the model again (cepe build).',
      )
    : new CodedError('unsupported', 'A streaming cache shifts keys by whole positions, which this rotary embedding does not allow.')
}
