import protobuf from 'protobufjs'

/** The subset of onnx.proto that the builder writes and the inspector reads; field numbers are ONNX's. */
const SCHEMA = `
syntax = "proto2";
package onnx;
message StringStringEntryProto { optional string key = 1; optional string value = 2; }
message TensorProto {
  repeated int64 dims = 1;
  optional int32 data_type = 2;
  optional string name = 8;
  optional bytes raw_data = 9;
  repeated StringStringEntryProto external_data = 13;
  optional int32 data_location = 14;
}
message Dimension { optional int64 dim_value = 1; optional string dim_param = 2; }
message TensorShapeProto { repeated Dimension dim = 1; }
message TensorType { optional int32 elem_type = 1; optional TensorShapeProto shape = 2; }
message TypeProto { optional TensorType tensor_type = 1; }
message ValueInfoProto { optional string name = 1; optional TypeProto type = 2; }
message AttributeProto {
  optional string name = 1;
  optional float f = 2;
  optional int64 i = 3;
  optional bytes s = 4;
  optional GraphProto g = 6;
  repeated int64 ints = 8;
  optional int32 type = 20;
}
message NodeProto {
  repeated string input = 1;
  repeated string output = 2;
  optional string name = 3;
  optional string op_type = 4;
  repeated AttributeProto attribute = 5;
  optional string domain = 7;
}
message GraphProto {
  repeated NodeProto node = 1;
  optional string name = 2;
  repeated TensorProto initializer = 5;
  repeated ValueInfoProto input = 11;
  repeated ValueInfoProto output = 12;
}
message OperatorSetIdProto { optional string domain = 1; optional int64 version = 2; }
message ModelProto {
  optional int64 ir_version = 1;
  optional string producer_name = 2;
  optional string producer_version = 3;
  optional GraphProto graph = 7;
  repeated OperatorSetIdProto opset_import = 8;
}
`

export interface TensorProto {
  dims: number[]
  data_type: number
  name: string
  raw_data?: Uint8Array
  external_data?: { key: string; value: string }[]
  data_location?: number
}
export interface ValueInfoProto {
  name: string
  type: { tensor_type: { elem_type: number; shape: { dim: { dim_value?: number; dim_param?: string }[] } } }
}
export interface AttributeProto {
  name: string
  type: number
  f?: number
  i?: number
  s?: Uint8Array
  g?: GraphProto
  ints?: number[]
}
export interface NodeProto {
  input: string[]
  output: string[]
  name: string
  op_type: string
  attribute: AttributeProto[]
  domain: string
}
export interface GraphProto {
  name: string
  node: NodeProto[]
  initializer: TensorProto[]
  input: ValueInfoProto[]
  output: ValueInfoProto[]
}
export interface ModelProto {
  ir_version: number
  producer_name: string
  producer_version: string
  graph: GraphProto
  opset_import: { domain: string; version: number }[]
}

/** AttributeProto.AttributeType. */
export const ATTRIBUTE = { float: 1, int: 2, string: 3, graph: 5, ints: 7 } as const
/** TensorProto.DataLocation. */
export const EXTERNAL = 1

const modelType = protobuf.parse(SCHEMA, { keepCase: true }).root.lookupType('onnx.ModelProto')

/** Serialises to .onnx bytes, without weights in external files. */
export function encodeModel(model: ModelProto): Uint8Array {
  return modelType.encode(modelType.fromObject(model)).finish()
}

/** Parses .onnx bytes; unknown fields are skipped, absent ones get their defaults. @throws protobufjs' errors for invalid bytes */
export function decodeModel(bytes: Uint8Array): ModelProto {
  return modelType.toObject(modelType.decode(bytes), { longs: Number, defaults: true, arrays: true }) as ModelProto
}
