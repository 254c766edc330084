import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import fp from 'fastify-plugin'
import type { FastifyInstance, FastifySchema } from 'fastify'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Bodies that are not checked against a schema, for the documentation. */
    documentedBody?: { readonly content: Readonly<Record<string, unknown>> }
  }
}

export interface DocsOptions {
  readonly version: string
}

/** OpenAPI from the route schemas, with a page to try them at /docs (JSON at /docs/json). */
export const docs = fp(async (app: FastifyInstance, { version }: DocsOptions) => {
  await app.register(swagger, {
    transform: ({ schema, url, route }) => {
      const documented = route.config?.documentedBody
      return { url, schema: documented ? { ...schema, body: { content: { ...contentOf(schema), ...documented.content } } } : schema }
    },
    openapi: {
      openapi: '3.1.0',
      info: { title: 'cepe-qa', version, description: 'Open-domain question answering with CEPE, Contriever and LanceDB.' },
      tags: [
        { name: 'questions', description: 'Answers, searches and scores' },
        { name: 'openai', description: "For clients made for OpenAI's service" },
        { name: 'passages', description: 'Single passages of the index' },
        { name: 'index', description: 'Bulk indexing; needs the admin key' },
        { name: 'operations', description: 'Health and metrics' },
      ],
      components: { securitySchemes: { adminKey: { type: 'http', scheme: 'bearer' } } },
    },
  })
  await app.register(swaggerUi, { routePrefix: '/docs' })
})

/** The content of a body whose media types have schemas of their own. */
function contentOf({ body }: FastifySchema): Readonly<Record<string, unknown>> {
  return typeof body === 'object' && body !== null && 'content' in body ? (body.content as Readonly<Record<string, unknown>>) : {}
}
