import { describe, expect, it, onTestFinished } from 'vitest'
import { hasPrometheus } from '../support/promtool.ts'
import { hasRedisServer, startRedisServer, stopRedisServer } from '../support/redis-tier.ts'
import { until } from '../support/until.ts'
import { type AlertCause, askTooMuch, failReceiver, startWrongProcess } from './alert-causes.ts'
import { type LiveFixture, prepareLiveFixture } from './live-fixture.ts'
import { startRealTimePrometheus } from './prometheus-server.ts'

const MINUTE_MS = 60_000
const LONGEST_MS = 25 * MINUTE_MS
/** The minutes after which each alert fires at the latest: its wait, and what its cause takes to be seen. */
const FIRES_WITHIN: Readonly<Record<string, number>> = {
  UpstreamErrors: 7,
  RedisDown: 5,
  clock_wrong: 17,
  endpoints_failing_for_hours: 17,
  deliveries_dying: 18,
  budget_too_small: 17,
  max_delays_unkept: 17,
}
/** A rate over five minutes, and `keep_firing_for` another five. */
const ENDS_WITHIN = 13

async function startFixture(): Promise<LiveFixture> {
  const fixture = await prepareLiveFixture(startRealTimePrometheus)
  onTestFinished(() => fixture.close())
  await until('the first gauges', async () => {
    const read = await fixture.prometheus.query('farewatch_routes_live')
    return read.length > 0
  })
  return fixture
}

async function failUpstream({ sandbox, prometheus }: LiveFixture): Promise<AlertCause> {
  sandbox.setFaults([{ name: 'status', code: 500 }])
  return { alerts: ['UpstreamErrors'], prometheus, end: async () => sandbox.setFaults([]) }
}

async function stopRedis({ redis, prometheus }: LiveFixture): Promise<AlertCause> {
  const { port = 0 } = redis.options
  // The connection of the fixture is lost too.
  redis.on('error', () => undefined)
  await redis.shutdown('NOSAVE').catch(() => undefined)
  const end = async () => {
    const server = await startRedisServer(port)
    onTestFinished(() => stopRedisServer(server))
  }
  return { alerts: ['RedisDown'], prometheus, end }
}

/** The minutes from the beginning of a cause until its alerts fire, and from the end of its cause until it ends. */
async function measure(starting: Promise<AlertCause>) {
  const startMs = performance.now()
  const { alerts, prometheus, end } = await starting
  const minutesSince = (ms: number) => Math.round((performance.now() - ms) / 6_000) / 10
  const whenFiring = (alert: string, wanted: boolean) =>
    until(
      `${alert} ${wanted ? 'fires' : 'ends'}`,
      async () => (await prometheus.firing()).includes(alert) === wanted,
      LONGEST_MS,
    )
  const fired = await Promise.all(
    alerts.map(async (alert) => {
      await whenFiring(alert, true)
      const minutes = minutesSince(startMs)
      process.stdout.write(`${alert} fired after ${minutes} min\n`)
      return minutes
    }),
  )
  const endMs = performance.now()
  await end()
  return Promise.all(
    alerts.map(async (alert, i) => {
      await whenFiring(alert, false)
      const ended = minutesSince(endMs)
      process.stdout.write(`${alert} ended ${ended} min after its cause\n`)
      return { alert, fired: fired[i] ?? 0, ended }
    }),
  )
}

describe.runIf(hasPrometheus() && hasRedisServer())('in a Prometheus with the real times', () => {
  it(
    'alerts fire within minutes of their causes, and end within minutes after them',
    async () => {
      const [one, other] = await Promise.all([startFixture(), startFixture()])
      const causes = [
        failReceiver(one),
        askTooMuch(one),
        startWrongProcess(one, startRealTimePrometheus),
        stopRedis(other),
        failUpstream(one),
      ]

      const measured = await Promise.all(causes.map(measure))

      const results = measured.flat()
      expect(new Set(results.map(({ alert }) => alert))).toEqual(new Set(Object.keys(FIRES_WITHIN)))
      for (const { alert, fired, ended } of results) {
        expect(fired, alert).toBeLessThanOrEqual(FIRES_WITHIN[alert] ?? 0)
        expect(ended, alert).toBeLessThanOrEqual(ENDS_WITHIN)
      }
    },
    3 * LONGEST_MS,
  )
})
