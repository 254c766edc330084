import {
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  defaultTextMapGetter,
  type Attributes,
} from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import type { FastifyRequest } from 'fastify'
import type { Generation, Observer } from '../../inference/observer.ts'

/** The span of one request. */
export interface RequestSpan extends Observer {
  /** Idempotent. @param status 0 without a response */
  end(status: number, error: string | null): void
}

interface TracingOptions {
  /** OTLP over HTTP. */
  readonly url: string
  readonly version: string
  /** Called if spans cannot be delivered; requests never wait for it. */
  readonly log: (message: string) => void
}

/** Creates spans by OpenTelemetry's conventions for HTTP servers; the SDK's OTEL_ variables apply (sampling, batches, headers). */
export function startTracing({ url, version, log }: TracingOptions) {
  const quiet = (): void => undefined
  diag.setLogger(
    { error: log, warn: log, info: quiet, debug: quiet, verbose: quiet },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  )
  const provider = new BasicTracerProvider({
    resource: defaultResource().merge(resourceFromAttributes({ 'service.name': 'cepe-qa', 'service.version': version })),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url }))],
  })
  const tracer = provider.getTracer('cepe-qa', version)
  const propagator = new W3CTraceContextPropagator()
  return {
    begin: ({ method, routeOptions: { url: route }, id, headers }: FastifyRequest): RequestSpan => {
      const parent = propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter)
      const attributes = { 'http.request.method': method, ...(route !== undefined && { 'http.route': route }), 'cepe.request_id': id }
      const span = tracer.startSpan(`${method} ${route ?? ''}`.trim(), { kind: SpanKind.SERVER, attributes }, parent)
      const within = trace.setSpan(parent, span)
      let inputTokens = 0
      return {
        stage: (name, startedAt, ms) => {
          const startTime = performance.timeOrigin + startedAt
          tracer.startSpan(name, { startTime }, within).end(startTime + ms)
        },
        tokens: (kind, count) => {
          span.setAttribute(`cepe.tokens.${kind}`, count)
          if (kind !== 'generated') inputTokens += count
          span.setAttribute(...(kind === 'generated' ? usage('output', count) : usage('input', inputTokens)))
        },
        generated: (generation) => void span.setAttributes(generationAttributes(generation)),
        end: (status, error) => {
          if (!span.isRecording()) return
          if (status > 0) span.setAttribute('http.response.status_code', status)
          if (error !== null) span.setAttribute('error.type', error)
          if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
          span.end()
        },
      }
    },
    /** Flushes pending spans. */
    close: () => provider.shutdown().catch((error: unknown) => log(`Traces were not delivered: ${String(error)}`)),
  }
}

function usage(side: 'input' | 'output', count: number): [string, number] {
  return [`gen_ai.usage.${side}_tokens`, count]
}

/** Attributes by OpenTelemetry's conventions for generative AI, without texts. */
function generationAttributes({ model, maxTokens, temperature, finishReason }: Generation): Attributes {
  return {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'cepe',
    'gen_ai.request.model': model,
    'gen_ai.response.model': model,
    'gen_ai.request.max_tokens': maxTokens,
    ...(temperature !== undefined && { 'gen_ai.request.temperature': temperature }),
    'gen_ai.response.finish_reasons': [finishReason],
  }
}
