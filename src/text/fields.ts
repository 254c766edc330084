import { Type, type TProperties, type TSchema } from 'typebox'

/** An object without further fields. */
export function closed<Fields extends TProperties>(fields: Fields) {
  return Type.Object(fields, { additionalProperties: false })
}

export function nonBlank(maxLength: number, description: string) {
  return Type.String({ minLength: 1, maxLength, pattern: '\\S', description })
}

export function optionalInteger([minimum, maximum]: readonly [number, number], description: string) {
  return Type.Optional(Type.Integer({ minimum, maximum, description }))
}

export function optionalCount(minimum: number, description: string) {
  return Type.Optional(Type.Integer({ minimum, description }))
}

export function optionalNumber([minimum, maximum]: readonly [number, number], description: string) {
  return Type.Optional(Type.Number({ minimum, maximum, description }))
}

export function optionalEnum<const Value extends string>(values: readonly Value[], description: string) {
  return Type.Optional(Type.Enum([...values], { description }))
}

export function optionalBoolean(description: string) {
  return Type.Optional(Type.Boolean({ description }))
}

export function optionalName(maxLength: number, description: string) {
  return Type.Optional(Type.String({ minLength: 1, maxLength, description }))
}

export function optionalText(maxLength: number, description: string) {
  return Type.Optional(Type.String({ maxLength, description }))
}

export function optionalOrNull<Schema extends TSchema>(schema: Schema, description?: string) {
  return Type.Optional(orNull(schema, description))
}

export function orNull<Schema extends TSchema>(schema: Schema, description?: string) {
  return Type.Union([schema, Type.Null()], { ...(description !== undefined && { description }) })
}
