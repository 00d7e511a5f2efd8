import { describe, expect } from 'vitest'
import {
  addressesOf,
  firstLine,
  type RunningCommand,
  startInTest,
} from '../support/child-process.ts'
import { startSpanReceiver } from '../support/span-receiver.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'

/** Writes the URL of each module of OpenTelemetry to standard error when it is loaded. */
const REPORT_MODULES = `--import "data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module'
  registerHooks({
    load(url, context, next) {
      if (url.includes('/@opentelemetry/')) process.stderr.write('loaded ' + url + '\\n')
      return next(url, context)
    },
  })
`)}"`

async function startWorker(
  databaseUrl: string,
  env: Readonly<Record<string, string>>,
): Promise<RunningCommand> {
  const worker = startInTest(['worker'], {
    DATABASE_URL: databaseUrl,
    UPSTREAM_BASE_URL: 'http://127.0.0.1:9',
    API_PORT: '0',
    ADMIN_PORT: '0',
    ...env,
  })
  await addressesOf(worker)
  return worker
}

async function stop(worker: RunningCommand): Promise<number | string> {
  worker.child.kill('SIGTERM')
  return worker.ended
}

function packagesOf(stderr: string): Set<string> {
  return new Set(stderr.match(/(?<=^loaded .*)@opentelemetry\/[^/]+/gm) ?? [])
}

describe('the spans of a service', () => {
  it('are not made without an endpoint: nothing of the SDK is loaded', async ({ databaseUrl }) => {
    const worker = await startWorker(databaseUrl, { NODE_OPTIONS: REPORT_MODULES })

    await firstLine(worker, 'route sync finished')
    await stop(worker)
    // prom-client loads the package of the interfaces for itself.
    expect(packagesOf(worker.stderr())).toEqual(new Set(['@opentelemetry/api']))
    expect(worker.stdout()).not.toContain('traceId')
  })

  it('arrive with the ids that the lines of the log have, and the secret of the headers is in no line', async ({
    databaseUrl,
  }) => {
    const receiver = await startSpanReceiver()
    const worker = await startWorker(databaseUrl, {
      NODE_OPTIONS: REPORT_MODULES,
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20CANARY-otel-1,x-tenant=CANARY-tenant-2',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      LOG_LEVEL: 'debug',
    })
    const { traceId, spanId } = await firstLine(worker, 'route sync finished')
    await until('its span', () => receiver.spans.some(({ name }) => name === 'sync'))

    expect(await stop(worker)).toBe(0)

    const ofLine = receiver.spans.find((span) => span.spanId === spanId)
    expect(ofLine).toMatchObject({
      traceId,
      resource: {
        'service.name': 'farewatch',
        'farewatch.role': 'worker',
        'deployment.environment.name': 'test',
      },
    })
    const sync = receiver.spans.find(({ name }) => name === 'sync')
    expect(sync).toMatchObject({
      parentId: '',
      attributes: {
        'farewatch.run_id': expect.stringMatching(/^\d+$/),
        'farewatch.status': 'failed',
      },
    })
    expect(receiver.spans.filter(({ parentId }) => parentId === sync?.spanId)).not.toEqual([])
    expect(receiver.headers[0]).toMatchObject({
      authorization: 'Bearer CANARY-otel-1',
      'x-tenant': 'CANARY-tenant-2',
    })
    expect(`${worker.stdout()}${worker.stderr()}`).not.toContain('CANARY')
    expect(packagesOf(worker.stderr())).toContain('@opentelemetry/sdk-trace')
  })

  it('delay neither the work nor its end when the receiver never answers', async ({
    databaseUrl,
  }) => {
    const receiver = await startSpanReceiver({ hangs: true })
    const worker = await startWorker(databaseUrl, { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })
    await until('a request', () => receiver.requests() > 0)
    const runs = () => worker.stdout().split('"msg":"route sync finished"').length
    await until('both lists', () => runs() > 2)

    const fromMs = performance.now()
    expect(await stop(worker)).toBe(0)

    expect(performance.now() - fromMs).toBeLessThan(9_000)
    expect(worker.stdout()).not.toContain('notStopped')
  })
})
