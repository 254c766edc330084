import protobuf from 'protobufjs'

/** The fields that the tests set, with the official numbers. */
const MODEL = protobuf
  .parse(
    `syntax = "proto2";
    message Piece { optional string piece = 1; optional float score = 2; optional int32 type = 3; }
    message Trainer { optional int32 model_type = 3; optional int32 vocab_size = 4; optional bool treat_whitespace_as_suffix = 24; optional bool byte_fallback = 35; }
    message Normalizer { optional string name = 1; optional bytes precompiled_charsmap = 2; optional bool add_dummy_prefix = 3; optional bool remove_extra_whitespaces = 4; optional bool escape_whitespaces = 5; }
    message Model { repeated Piece pieces = 1; optional Trainer trainer_spec = 2; optional Normalizer normalizer_spec = 3; }`,
    { keepCase: true },
  )
  .root.lookupType('Model')

const NORMAL = 1
const UNKNOWN = 2
const CONTROL = 3
const BYTE = 6

export interface Piece {
  readonly piece: string
  readonly score: number
  readonly type: number
}

/** <unk>, <s>, </s>, the 256 bytes, then the given pieces, the earlier the better. */
export function bpePieces(...pieces: readonly string[]): readonly Piece[] {
  return [
    { piece: '<unk>', score: 0, type: UNKNOWN },
    { piece: '<s>', score: 0, type: CONTROL },
    { piece: '</s>', score: 0, type: CONTROL },
    ...Array.from({ length: 256 }, (_, byte) => ({
      piece: `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`,
      score: 0,
      type: BYTE,
    })),
    ...pieces.map((piece, rank) => ({ piece, score: -rank, type: NORMAL })),
  ]
}

/** Id of the first of bpePieces' own pieces. */
export const FIRST_PIECE = 259

/** A LLaMA-like tokenizer.model of the given pieces. */
export function sentencePieceOf(pieces: readonly Piece[], trainer: object = {}, normalizer: object = {}): Uint8Array {
  return MODEL.encode({
    pieces,
    trainer_spec: { model_type: 2, byte_fallback: true, vocab_size: pieces.length, ...trainer },
    normalizer_spec: { name: 'identity', add_dummy_prefix: true, remove_extra_whitespaces: false, ...normalizer },
  }).finish()
}
