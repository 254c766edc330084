import protobuf from 'protobufjs'
import { Type, type Static } from 'typebox'
import { invalid } from '../errors.ts'
import { parseAs } from '../checkpoint/config/json.ts'
import { messageOf, orThrow } from '../../base/errors.ts'

/** The fields read of sentencepiece_model.proto (numbers and defaults: github.com/google/sentencepiece, src/sentencepiece_model.proto). */
const MODEL_PROTO = protobuf
  .parse(
    `syntax = "proto2";
    message Piece {
      optional string piece = 1;
      optional float score = 2;
      optional int32 type = 3 [default = 1];
    }
    message TrainerSpec {
      optional int32 model_type = 3 [default = 1];
      optional bool treat_whitespace_as_suffix = 24 [default = false];
      optional bool byte_fallback = 35 [default = false];
    }
    message NormalizerSpec {
      optional string name = 1;
      optional bytes precompiled_charsmap = 2;
      optional bool add_dummy_prefix = 3 [default = true];
      optional bool remove_extra_whitespaces = 4 [default = true];
      optional bool escape_whitespaces = 5 [default = true];
    }
    message ModelProto {
      repeated Piece pieces = 1;
      optional TrainerSpec trainer_spec = 2;
      optional NormalizerSpec normalizer_spec = 3;
    }`,
    { keepCase: true },
  )
  .root.lookupType('ModelProto')

/** SentencePiece.Type of the proto. */
export const PIECE_TYPE = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const

/** TrainerSpec.ModelType of the proto. */
export const MODEL_TYPE = { unigram: 1, bpe: 2, word: 3, char: 4 } as const

const SentencePieceSchema = Type.Object({
  pieces: Type.Array(
    Type.Object({ piece: Type.String({ minLength: 1 }), score: Type.Number(), type: Type.Integer({ minimum: 1, maximum: 6 }) }),
    { minItems: 1, maxItems: 1_000_000 },
  ),
  trainer_spec: Type.Object({ model_type: Type.Integer(), treat_whitespace_as_suffix: Type.Boolean(), byte_fallback: Type.Boolean() }),
  normalizer_spec: Type.Object({
    name: Type.String(),
    precompiled_charsmap: Type.Unsafe<Uint8Array>(Type.Unknown()),
    add_dummy_prefix: Type.Boolean(),
    remove_extra_whitespaces: Type.Boolean(),
    escape_whitespaces: Type.Boolean(),
  }),
})
export type SentencePieceModel = Static<typeof SentencePieceSchema>

/** Decodes a SentencePiece `tokenizer.model`. @param file name of the source in messages @throws checkpoint_invalid for invalid bytes */
export function decodeSentencePiece(bytes: Uint8Array, file: string): SentencePieceModel {
  const message = orThrow(
    () => MODEL_PROTO.decode(bytes),
    (thrown) => invalid(`${file} is no SentencePiece model (${messageOf(thrown)}); take the file from the checkpoint again`, file),
  )
  return parseAs(SentencePieceSchema, MODEL_PROTO.toObject(message, { defaults: true }), file)
}
