import { onTestFinished } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import { startReceiver } from '../delivery/receiver.ts'
import { startFarewatch } from '../support/child-process.ts'
import { freePort } from '../support/redis-tier.ts'
import { until } from '../support/until.ts'
import type { LiveFixture } from './live-fixture.ts'
import type { Prometheus } from './prometheus-server.ts'

/** A cause of alerts, and its end. Several may last at the same time. */
export interface AlertCause {
  readonly alerts: readonly string[]
  /** The Prometheus in which they fire. */
  readonly prometheus: Prometheus
  end(): Promise<unknown>
}

/**
 * A receiver whose every attempt fails, and a delivery to it that dies. Their ages are written into the database: hours
 * of failures, and days of attempts.
 */
export async function failReceiver({
  database,
  run,
  prometheus,
}: LiveFixture): Promise<AlertCause> {
  const { db } = database
  let status = 500
  const receiver = await startReceiver((_request, response) => response.writeHead(status).end())
  onTestFinished(() => receiver[Symbol.asyncDispose]())
  const created = await run('endpoints', 'create', '--reseller', 'ana', '--target', receiver.url)
  if (created.exit !== 0) throw new Error(created.stderr)
  await sql`
    insert into delivery (endpoint_id, type, payload, recorded_at)
    select e.id, 'webhook.test', '{}', clock_timestamp() from webhook_endpoint e, generate_series(1, 6)
  `.execute(db)
  await until('an open circuit breaker', async () => {
    const { rows } = await sql`
      update webhook_endpoint set failing_since = clock_timestamp() - interval '3 hours' where failures >= 5 returning id
    `.execute(db)
    return rows.length === 1
  })
  await sql`
    update delivery set recorded_at = recorded_at - interval '6 days', first_attempt_at = first_attempt_at - interval '6 days'
     where id = (select id from delivery where state = 'pending' and attempts > 0 and claim_id is null order by id limit 1)
  `.execute(db)
  const end = async () => {
    status = 200
    const since = new Date(Date.now() - 3_600_000).toISOString()
    await run('deliveries', 'replay', '--reseller', 'ana', '--from', since)
    // The breaker would wait for ten minutes at most, and the next attempt longer.
    await sql`update webhook_endpoint set open_until = clock_timestamp() where open_until is not null`.execute(
      db,
    )
    await sql`update delivery set due_at = clock_timestamp() where state = 'pending' and claim_id is null`.execute(
      db,
    )
  }
  return { alerts: ['endpoints_failing_for_hours', 'deliveries_dying'], prometheus, end }
}

/** Longest delays that need more than the share of their reseller. */
export async function askTooMuch({ database, prometheus }: LiveFixture): Promise<AlertCause> {
  const ask = (seconds: number | null) =>
    sql`update watch set max_delay_seconds = ${seconds}`.execute(database.db)
  await ask(1)
  return { alerts: ['max_delays_unkept'], prometheus, end: () => ask(null) }
}

/** Sets the clock of a process back by five seconds. */
const SLOW_CLOCK = `data:text/javascript,${encodeURIComponent(`
const Real = Date
globalThis.Date = class extends Real {
  constructor(...given) { given.length === 0 ? super(Real.now() - 5000) : super(...given) }
  static now() { return Real.now() - 5000 }
}`)}`

/** A second process with a wrong clock and a budget that is too small, and a Prometheus of its own. */
export async function startWrongProcess(
  { env }: LiveFixture,
  startOf: (target: string) => Promise<Prometheus>,
): Promise<AlertCause> {
  const port = String(await freePort())
  const started = startFarewatch(['api'], {
    ...env,
    API_PORT: String(await freePort()),
    ADMIN_PORT: port,
    UPSTREAM_REQUESTS_PER_SECOND: '0.03',
    NODE_OPTIONS: `--import=${SLOW_CLOCK}`,
  })
  const stop = async () => {
    started.child.kill('SIGTERM')
    await started.ended
  }
  onTestFinished(stop)
  await until('the second process', () => started.stdout().includes('"msg":"ready"'), 300_000)
  const prometheus = await startOf(`127.0.0.1:${port}`)
  onTestFinished(() => prometheus.close())
  return { alerts: ['clock_wrong', 'budget_too_small'], prometheus, end: stop }
}
