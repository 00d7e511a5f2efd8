import os from 'node:os'
import type * as OpenTelemetry from '@opentelemetry/api'
import packageJson from '../../package.json' with { type: 'json' }
import { endsWithin } from '../platform/base/clock.ts'
import { AppError } from '../platform/base/errors.ts'
import type { Logger } from '../platform/base/logger.ts'
import { cleanText } from '../platform/base/text.ts'
import { type Attributes, setTracer, type Tracer } from '../platform/base/tracing.ts'
import { headersOf } from '../platform/config/config.ts'
import type { Config } from '../platform/config/settings.ts'

interface Tracing {
  /** Sends the spans that have ended, as far as the time suffices. Never rejects. */
  close(graceMs: number): Promise<void>
}

/** A receiver that is down fails every few seconds. */
const REPORT_EVERY_MS = 600_000

/**
 * Sends the spans of this process to OTEL_EXPORTER_OTLP_ENDPOINT. If that is not set, no package of OpenTelemetry's SDK is
 * loaded. At most 2,048 ended spans wait; more are dropped, so that a slow receiver takes neither time nor memory.
 */
export async function startTracing(
  config: Config,
  { role, log }: { readonly role: string; readonly log: Logger },
): Promise<Tracing | undefined> {
  const endpoint = config.OTEL_EXPORTER_OTLP_ENDPOINT
  if (endpoint === undefined) return undefined
  const [api, sdk, hooks, resources, otlp] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/context-async-hooks'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/exporter-trace-otlp-proto'),
  ])
  reportFailures(api, log)
  const ours = {
    'service.name': 'farewatch',
    'service.version': packageJson.version,
    'service.instance.id': `${os.hostname()}:${process.pid}`,
    'farewatch.role': role,
  }
  const exporter = new otlp.OTLPTraceExporter({
    url: `${endpoint.replace(/\/$/, '')}/v1/traces`,
    headers: Object.fromEntries(headersOf(config.OTEL_EXPORTER_OTLP_HEADERS)),
  })
  const provider = new sdk.TracerProvider({
    // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES come last.
    resource: resources
      .defaultResource()
      .merge(resources.resourceFromAttributes(ours))
      .merge(resources.detectResources({ detectors: [resources.envDetector] })),
    sampler: new sdk.ParentBasedSampler({
      root: new sdk.TraceIdRatioBasedSampler(shareOf(config)),
    }),
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter })],
  })
  api.context.setGlobalContextManager(new hooks.AsyncLocalStorageContextManager().enable())
  setTracer(createTracer(api, provider.getTracer('farewatch', packageJson.version)))
  return {
    close: async (graceMs) => {
      setTracer(undefined)
      await endsWithin(
        provider.shutdown().catch(() => undefined),
        graceMs,
      )
    },
  }
}

/** The share of traces that OTEL_TRACES_SAMPLER keeps. No trace of ours begins elsewhere, so a parent decides nothing. */
function shareOf({ OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: share }: Config): number {
  if (sampler.endsWith('always_off')) return 0
  return sampler.endsWith('traceidratio') ? share : 1
}

/** What the SDK reports, which is that a receiver takes no spans. */
function reportFailures({ diag, DiagLogLevel }: typeof OpenTelemetry, log: Logger): void {
  let reportedMs = Number.NEGATIVE_INFINITY
  const silent = () => undefined
  const error = (reason: string) => {
    if (performance.now() - reportedMs < REPORT_EVERY_MS) return
    reportedMs = performance.now()
    log.warn({ reason: cleanText(reason, 300) }, 'spans were not taken')
  }
  const logger = { error, warn: silent, info: silent, debug: silent, verbose: silent }
  diag.setLogger(logger, { logLevel: DiagLogLevel.ERROR, suppressOverrideMessage: true })
}

function createTracer(
  { SpanStatusCode, trace, context }: typeof OpenTelemetry,
  tracer: OpenTelemetry.Tracer,
): Tracer {
  return {
    span: (name, attributes, work) =>
      tracer.startActiveSpan(name, { attributes: present(attributes) }, async (span) => {
        try {
          return await work((more) => void span.setAttributes(present(more)))
        } catch (err) {
          // The message may hold an address or a text of others.
          const type =
            err instanceof AppError ? err.code : err instanceof Error ? err.name : 'error'
          span.setAttribute('error.type', type)
          span.setStatus({ code: SpanStatusCode.ERROR })
          throw err
        } finally {
          span.end()
        }
      }),
    current: () => {
      const found = trace.getSpanContext(context.active())
      if (found === undefined || found.traceFlags === 0) return undefined
      return { traceId: found.traceId, spanId: found.spanId }
    },
  }
}

function present(attributes: Attributes): OpenTelemetry.Attributes {
  const given = Object.entries(attributes).filter(
    ([, value]) => value !== undefined && value !== null,
  )
  return Object.fromEntries(given) as OpenTelemetry.Attributes
}
