import { format } from 'oxfmt'
import { present } from '../../base/at.ts'

/** A schema of an OpenAPI document. */
export interface Schema {
  readonly $ref?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly type?: string
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | boolean
  readonly description?: string
}
export type Schemas = Readonly<Record<string, Schema>>

const HEAD = '/** Made from the schemas of the HTTP API. */\n'
const PRIMITIVES: Readonly<Record<string, string>> = {
  string: 'string',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
  null: 'null',
}
const STYLE = { semi: false, singleQuote: true, printWidth: 140, trailingComma: 'all' } as const

/** TypeScript of the named schemas and of those that they refer to, by name. @throws Error for a schema of a kind that is not known here */
export async function writeTypes(schemas: Schemas, names: readonly string[]): Promise<string> {
  const wanted = new Set(names)
  for (const name of wanted) {
    if (schemas[name] === undefined) throw new Error(`The document has no schema ${name}.`)
    for (const [, other = ''] of JSON.stringify(schemas[name]).matchAll(/"#\/components\/schemas\/(\w+)"/g)) wanted.add(other)
  }
  const written = [...wanted].sort().map((name) => declaration(name, present(schemas[name])))
  const { code, errors } = await format('types.ts', [HEAD, ...written].join('\n'), STYLE)
  if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join('\n'))
  return code
}

function declaration(name: string, schema: Schema): string {
  const type = typeOf(schema)
  return `${comment(schema)}export ${type.startsWith('{') && schema.properties ? `interface ${name} ${type}` : `type ${name} = ${type}`}\n`
}

function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1)
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' | ')
  if (schema.type === 'array') return schema.items ? `(${typeOf(schema.items)})[]` : 'unknown[]'
  if (schema.type === 'object') return objectType(schema)
  if (schema.type === undefined && Object.keys(schema).every((key) => key === 'description')) return 'unknown'
  const primitive = PRIMITIVES[schema.type ?? '']
  if (primitive === undefined) throw new Error(`No type is known for ${JSON.stringify(schema)}.`)
  return primitive
}

function objectType({ properties, required = [], additionalProperties }: Schema): string {
  if (!properties) return `Record<string, ${typeof additionalProperties === 'object' ? typeOf(additionalProperties) : 'unknown'}>`
  const fields = Object.entries(properties).map(
    ([name, field]) => `${comment(field)}${JSON.stringify(name)}${required.includes(name) ? '' : '?'}: ${typeOf(field)}`,
  )
  return `{\n${fields.join('\n')}\n}`
}

function comment({ description }: Schema): string {
  return description === undefined ? '' : `/** ${description.replaceAll('*/', '* /')} */\n`
}
