import { describe, expect, it, onTestFinished } from 'vitest'
import { setTracer } from '../../../src/platform/base/tracing.ts'
import { createMetrics, renderMetrics } from '../../../src/platform/metrics/metrics.ts'

const OPENMETRICS = 'application/openmetrics-text;version=1.0.0,text/plain;q=0.5'

function traceAs(traceId: string): void {
  const ids = { traceId, spanId: 'b'.repeat(16) }
  setTracer({ span: (_name, _attributes, work) => work(() => undefined), current: () => ids })
  onTestFinished(() => setTracer(undefined))
}

describe('the exemplars of a histogram', () => {
  it('name the trace of the last observation in a bucket, for a scraper that accepts OpenMetrics', async () => {
    const metrics = createMetrics()
    for (const trace of ['a', 'c']) {
      traceAs(trace.repeat(32))
      metrics.syncStageDuration.observe({ list: 'routes', stage: 'fetch' }, 0.3)
      metrics.checkDuration.observe(10_000)
    }

    const { type, text } = await renderMetrics(metrics, { withSystem: true, accept: OPENMETRICS })

    expect(type).toMatch(/^application\/openmetrics-text; version=1\.0\.0/)
    const exemplars = text.split('\n').filter((line) => line.includes(' # {'))
    expect(exemplars).toEqual([
      expect.stringMatching(
        /^farewatch_sync_stage_duration_seconds_bucket\{.*list="routes",stage="fetch"\} 2 # \{trace_id="c{32}",span_id="b{16}"\} 0\.3 \d+\.\d{3}$/,
      ),
      expect.stringMatching(
        /^farewatch_check_duration_seconds_bucket\{le="\+Inf"\} 2 # \{trace_id="c{32}",span_id="b{16}"\} 10000 /,
      ),
    ])
    expect(text).toContain('# TYPE farewatch_sync_runs counter\n')
    expect(text).toContain('\nfarewatch_sync_runs_total{')
    expect(text.endsWith('\n# EOF\n')).toBe(true)
    expect(text).not.toContain('\n\n')
  })
})
