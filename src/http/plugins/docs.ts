import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance, FastifySchema } from 'fastify'
import { needsUserKey } from '../auth/auth.ts'
import { errorResponses } from '../errors/error-body.ts'
import { nameSchemas } from './named-schemas.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Bodies without schema validation, for the documentation. */
    documentedBody?: { readonly content: Readonly<Record<string, unknown>> }
  }
}

/** The documentation loads its own files only and calls this service only. The hash is of the style in its logo. */
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self' 'sha256-RL3ie0nH+Lzz2YNqQN83mnU0J1ot4QL7b99vMdIX99w='; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** OpenAPI from the route schemas, with a page to try them at /docs (JSON at /docs/json). */
export async function docs(app: FastifyInstance, version: string, basePath: string): Promise<void> {
  await app.register(swagger, {
    transform: ({ schema, url, route }) => {
      const documented = route.config?.documentedBody
      const withBody = documented ? { ...schema, body: { content: { ...contentOf(schema), ...documented.content } } } : schema
      const isAdmin = url.startsWith('/v1/admin/') || [route.onRequest].flat().includes(app.requireAdmin)
      // A body is parsed where none is needed, too.
      const statuses = [...EVERYWHERE, ...(route.method === 'GET' ? [] : WITH_BODY)]
      return { url, schema: withErrors(needsUserKey(url) ? withKeys(withBody, isAdmin) : withBody, statuses) }
    },
    transformObject: (made) => {
      if (!('openapiObject' in made)) return made.swaggerObject
      const document = structuredClone(made.openapiObject)
      nameSchemas(document)
      return document
    },
    openapi: {
      openapi: '3.1.0',
      ...(basePath !== '' && { servers: [{ url: basePath }] }),
      info: { title: 'cepe-qa', version, description: 'Open-domain question answering with CEPE and LanceDB.' },
      tags: [
        { name: 'questions', description: 'Answers, search and scores' },
        { name: 'openai', description: 'Endpoints compatible with OpenAI clients' },
        { name: 'mcp', description: 'Model Context Protocol for agents' },
        { name: 'collections', description: 'Collections of passages' },
        { name: 'passages', description: 'Single passages of a collection' },
        { name: 'index', description: 'Bulk indexing; requires the admin key' },
        { name: 'operations', description: 'Health and metrics' },
      ],
      components: {
        securitySchemes: {
          adminKey: { type: 'http', scheme: 'bearer', description: 'An admin key.' },
          userKey: { type: 'http', scheme: 'bearer', description: 'Required if user keys are configured; an admin key is accepted too.' },
        },
      },
    },
  })
  await app.register(swaggerUi, { routePrefix: '/docs', indexPrefix: basePath, staticCSP: CSP })
}

/** With user keys, any route that answers from the corpus may return 401; an admin route always may. */
function withKeys(schema: FastifySchema, isAdmin: boolean): FastifySchema {
  return { ...withErrors(schema, isAdmin ? [401, 403] : [401]), security: isAdmin ? [{ adminKey: [] }] : [{}, { userKey: [] }] }
}

/** Statuses of any route: malformed, `Expect`, another host, too many requests, large headers, internal error, shutdown. */
const EVERYWHERE = [400, 417, 421, 429, 431, 500, 503]
/** Additional statuses of a route that may get a body: timeout, too large, unsupported type. */
const WITH_BODY = [408, 413, 415]

function withErrors(schema: FastifySchema, statuses: readonly number[]): FastifySchema {
  const { response } = schema
  return { ...schema, response: { ...errorResponses(...statuses), ...(typeof response === 'object' && response) } }
}

/** The content of a body with a schema per media type. */
function contentOf({ body }: FastifySchema): Readonly<Record<string, unknown>> {
  return typeof body === 'object' && body !== null && 'content' in body ? (body.content as Readonly<Record<string, unknown>>) : {}
}
