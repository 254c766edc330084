import { Type, type Static, type TSchema } from 'typebox'
import { MetadataNameSchema } from './passage-metadata.ts'

/** Bounds of the filters of one request. */
const FILTER_LIMITS = { values: 100, textCharacters: 1000, fields: 16 } as const

const text = Type.String({ minLength: 1, maxLength: FILTER_LIMITS.textCharacters })
const values = { minItems: 1, maxItems: FILTER_LIMITS.values } as const

/** Operators on a column or field. @param bound what can be ordered */
function conditionSchema<Value extends TSchema, Bound extends TSchema>(value: Value, bound: Bound) {
  const limit = Type.Optional(bound)
  return Type.Object(
    {
      equal: Type.Optional(value),
      in: Type.Optional(Type.Array(value, values)),
      prefix: Type.Optional(text),
      gt: limit,
      gte: limit,
      lt: limit,
      lte: limit,
    },
    { additionalProperties: false, minProperties: 1 },
  )
}

const TextConditionSchema = conditionSchema(text, text)

function textFilter(description: string) {
  return Type.Optional(Type.Union([text, Type.Array(text, values), TextConditionSchema], { description }))
}

const metadataText = Type.String({ maxLength: FILTER_LIMITS.textCharacters })
const scalar = Type.Union([metadataText, Type.Number(), Type.Boolean(), Type.Null()])
const ConditionSchema = conditionSchema(scalar, Type.Union([Type.Number(), metadataText]))

/** Conditions on passages, of an allow-list of columns and operators. A value alone means `equal`, a list alone means `in`. */
export const FilterSchema = Type.Object(
  {
    source: textFilter('Only passages from this source (or one of these).'),
    title: textFilter('Only passages with this title (or one of these).'),
    id: textFilter('Only passages with this id (or one of these).'),
    metadata: Type.Optional(
      Type.Record(MetadataNameSchema, Type.Union([scalar, Type.Array(scalar, values), ConditionSchema]), {
        minProperties: 1,
        maxProperties: FILTER_LIMITS.fields,
        description:
          'Conditions by metadata field. equal, in: same type and value, or one value of a list. gt, gte, lt, lte: numbers, or strings by code points. prefix: strings.',
      }),
    ),
  },
  {
    additionalProperties: false,
    title: 'Filter',
    description: 'Filter on passages; all conditions must hold. A value means equal, a list means in.',
  },
)
export type SearchFilter = Static<typeof FilterSchema>
export type Condition = Static<typeof ConditionSchema>
