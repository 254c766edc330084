import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../../../base/json.ts'

/** A schema's title, if it can be a type name. */
const NAME = /^[A-Z][A-Za-z0-9]*$/
const JSON_TYPE = 'application/json'
const METHODS = ['get', 'put', 'post', 'delete']

type Fields = Record<string, unknown>

/**
 * Names bodies by their operations (`AnswerRequest`, `AnswerResponse`), and moves named schemas to `components.schemas`, so that generated
 * clients have one type for each.
 * @param document OpenAPI; modified in place
 */
export function nameSchemas(document: Fields): void {
  const { paths } = document
  if (!isObject(paths)) return
  const taken = new Set<string>()
  for (const path of Object.values(paths).filter(isObject)) for (const method of METHODS) nameBodies(path, method, taken)
  const named = new Map<string, Fields>()
  hoist(paths, named)
  const { components } = document
  document['components'] = {
    ...(isObject(components) && components),
    schemas: Object.fromEntries([...named].sort(([a], [b]) => (a < b ? -1 : 1))),
  }
}

function nameBodies(path: Fields, method: string, taken: Set<string>): void {
  const operation = path[method]
  if (!isObject(operation) || typeof operation['operationId'] !== 'string') return
  const id = operation['operationId']
  const name = id.charAt(0).toUpperCase() + id.slice(1)
  // A route with several methods is several operations, which share one object in the document.
  if (taken.has(id)) path[method] = { ...operation, operationId: `${method}${name}` }
  taken.add(id)
  nameBody(operation['requestBody'], `${name}Request`)
  const { responses } = operation
  if (isObject(responses)) nameBody(responses['200'] ?? responses['201'] ?? responses['202'], `${name}Response`)
}

function nameBody(body: unknown, name: string): void {
  const content = isObject(body) ? body['content'] : undefined
  const json = isObject(content) ? content[JSON_TYPE] : undefined
  const schema = isObject(json) ? json['schema'] : undefined
  if (isObject(schema)) schema['title'] ??= name
}

/** Replaces named schemas by references, innermost first. */
function hoist(node: unknown, named: Map<string, Fields>): void {
  if (Array.isArray(node)) for (const [i, child] of node.entries()) node[i] = referring(child, named)
  else if (isObject(node)) for (const [key, child] of Object.entries(node)) node[key] = referring(child, named)
}

function referring(schema: unknown, named: Map<string, Fields>): unknown {
  hoist(schema, named)
  if (!isObject(schema)) return schema
  const { title: name, description, ...rest } = schema
  if (typeof name !== 'string' || !NAME.test(name)) return schema
  const known = named.get(name)
  if (known === undefined) named.set(name, { ...rest, ...(description !== undefined && { description }) })
  else {
    const { description: _, ...other } = known
    if (!isDeepStrictEqual(other, rest)) throw new Error(`This is a bug: two schemas are called ${name}.`)
  }
  return { $ref: `#/components/schemas/${name}`, ...(known !== undefined && description !== known['description'] && { description }) }
}
