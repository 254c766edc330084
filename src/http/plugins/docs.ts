import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'

/** OpenAPI from the route schemas, with a page to try them at /docs (JSON at /docs/json). */
export async function registerDocs(app: FastifyInstance, version: string): Promise<void> {
  await app.register(swagger, {
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
}
