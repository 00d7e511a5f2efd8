import { describe, expect, it } from 'vitest'
import { UNKNOWN_REASONS } from '../../../src/platform/base/kinds.ts'
import { createMetrics, renderMetrics } from '../../../src/platform/metrics/metrics.ts'
import { CALL_OUTCOMES } from '../../../src/upstream/upstream-errors.ts'
import { hasPrometheus, promtool } from '../../support/promtool.ts'

type Registry = ReturnType<typeof createMetrics>['registry']

/** Name, type and labels of every metric of ours. */
function declared(registry: Registry): string[] {
  return registry
    .getMetricsAsArray()
    .filter(({ name }) => name.startsWith('farewatch_'))
    .map((metric) => {
      const { labelNames } = metric as unknown as { labelNames: readonly string[] }
      return `${metric.name} ${metric.type} ${labelNames.join(',')}`
    })
    .toSorted((a, b) => a.localeCompare(b))
}

describe('the metrics', () => {
  const metrics = createMetrics()

  it('include those of the whole system only on request', async () => {
    const names = declared(metrics.systemRegistry).map((line) => line.split(' ')[0] ?? '')
    const alone = await renderMetrics(metrics, { withSystem: false })
    const both = await renderMetrics(metrics, { withSystem: true })

    expect(names.filter((name) => alone.includes(name))).toEqual([])
    expect(names.filter((name) => !both.includes(`# HELP ${name} `))).toEqual([])
  })

  it('begin at 0 for every value of a closed label set', async () => {
    const text = await renderMetrics(metrics, { withSystem: false })

    for (const line of [
      'farewatch_sync_runs_total{list="with-availability",status="held"} 0',
      'farewatch_observations_total{outcome="unknown",reason="id_missing"} 0',
      'farewatch_upstream_requests_total{endpoint="verify",outcome="upstream.auth"} 0',
      'farewatch_budget_slots_total{lane="confirmation"} 0',
      'farewatch_sync_stage_duration_seconds_count{list="routes",stage="apply"} 0',
    ]) {
      expect(text).toContain(line)
    }
  })

  it('begin at 0 for every outcome of a call', async () => {
    const { values } = await metrics.upstreamRequests.get()
    const outcomes = new Set(values.map(({ labels }) => labels.outcome))
    expect(outcomes).toEqual(new Set(CALL_OUTCOMES))
    // These are found after the call: in comparison with the belief, and with what is usual.
    const later = new Set<string>(['identity_mismatch', 'unknown_members'])
    const ofAnswers = UNKNOWN_REASONS.filter((reason) => !later.has(reason))
    const missing = ofAnswers.filter((reason) => !outcomes.has(`upstream.${reason}`))
    expect(missing).toEqual([])
  })

  it.runIf(hasPrometheus())('follow the conventions of Prometheus', async () => {
    const text = await renderMetrics(metrics, { withSystem: true })

    expect(promtool(['check', 'metrics'], { input: text })).toEqual({ exit: 0, output: '' })
  })
})
