import { CodedError } from '../../../../base/errors.ts'
import type { CepeManifest } from '../../../../models/manifest.ts'
import type { ScoreRequest } from '../../contract.ts'
import type { Output, YieldPoint } from '../../protocol.ts'
import { encodeContexts } from '../encoder/encode-contexts.ts'
import type { ReaderModel } from '../decoder/reader-model.ts'
import { score } from '../decoder/step-decoding.ts'
import { scoreStreaming, type MovedKeys } from '../decoder/streaming-llm.ts'

/** Scores continuations of a prompt, read whole or as a stream. @throws model_invalid and unsupported where streaming cannot be had */
export async function scoreTask(model: ReaderModel, request: ScoreRequest, step: YieldPoint): Promise<Output<'score'>> {
  const { phi } = await encodeContexts(model.encoder, request, step)
  return request.streaming
    ? scoreStreaming(await model.stepModel(), request, request.streaming, { rotary: rotaryOf(model.manifest), phi, pause: step })
    : score(await model.stepModel(), request, phi, step)
}

/** @throws model_invalid where the model was built before its manifest told, unsupported where it has no such frequencies */
function rotaryOf({ rotary }: CepeManifest): MovedKeys {
  if (rotary && 'frequencies' in rotary) return rotary
  throw rotary === undefined
    ? new CodedError(
        'model_invalid',
        'The manifest does not tell the rotary frequencies that a streaming cache needs: build the model again (cepe build).',
      )
    : new CodedError('unsupported', 'A streaming cache moves keys by whole positions, which this rotary embedding does not allow.')
}
