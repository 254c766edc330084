import type { FastifyInstance } from 'fastify'
import { CodedError, messageOf } from '../../../base/errors.ts'
import { utf8Body } from '../request/read-question.ts'

const TYPE = 'application/json'

/** Parses JSON bodies by the framework's parser (which rejects `__proto__`); errors name the position. */
export function jsonBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeContentTypeParser(TYPE)
  app.addContentTypeParser(TYPE, { parseAs: 'buffer' }, (request, body, parsed) => {
    // Many clients send a content type without a body.
    if (body.length === 0)
      return parsed(request.routeOptions.schema?.body === undefined ? null : invalid('The body is empty: send JSON.'), undefined)
    const text = utf8Body(body)
    void parse(request, text, (error, value) => parsed(error === null ? null : invalid(problemOf(text)), value))
  })
}

function problemOf(text: string): string {
  try {
    JSON.parse(text)
  } catch (error) {
    return `The body is not valid JSON (${messageOf(error)}).`
  }
  return 'The body holds a key __proto__, or constructor with prototype: neither is taken.'
}

function invalid(message: string): CodedError {
  return new CodedError('invalid_request', message)
}
