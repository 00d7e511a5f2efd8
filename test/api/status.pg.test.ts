import { describe, expect } from 'vitest'
import type { Status } from '../../src/health/status-shapes.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { createApiKey } from '../../src/resellers/api-keys.ts'
import { available, record, silent, trackFare, watchFare } from '../fares/fare-fixtures.ts'
import { manyRoutes, sync } from '../routes/sync-fixtures.ts'
import { ask, bearer, newKeyText, startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'
import { seedApi } from './seed.ts'

async function statusOf(db: Db, key: string): Promise<Record<string, unknown>> {
  const base = await startApi(db)
  const { status, text, body } = await ask(`${base}/api/v1/status`, { headers: bearer(key) })
  expect(status, text).toBe(200)
  return body
}

const operatorStatus = async (db: Db) => statusOf(db, await newKeyText(db))

/** Tracks a fare whose last good check was this many seconds ago. Null: it never had one. */
async function fareOfAge(db: Db, flightId: string, seconds: number | null): Promise<number> {
  const fareId = await trackFare(db, { flightId })
  const answer = seconds === null ? silent : available()
  await record(db, fareId, new Date(Date.now() - (seconds ?? 0) * 1000), answer)
  return fareId
}

describe('the status', () => {
  it('the status of a new service has no data yet', async ({ db }) => {
    const [about, code] = ['routes', 'list_never_accepted']
    expect(await operatorStatus(db)).toMatchObject({
      lists: [{ lastSuccessAt: null, nextDueAt: null, held: 0 }, {}],
      beliefs: { fares: 0, ageSeconds: null },
      incidents: [],
      budget: { requestsPerSecond: 5, share: 1, checksLastMinute: 0, limit: null },
      detectionDelays: [],
      deliveries: { pending: 0, oldestPendingAt: null },
      contradicted: null,
      queue: null,
      processes: null,
      warnings: ['routes', 'with-availability'].map((subject) => ({ about, code, subject })),
      versions: { farewatch: '0.0.0', schema: expect.stringMatching(/^\d{4}_\w+$/) as string },
    })
  })

  it('the status shows the freshness of each list and the held runs', async ({ db }) => {
    await sync(db, manyRoutes(40))
    const held = await sync(db, manyRoutes(5))

    const { lists, heldRuns } = await operatorStatus(db)

    expect(lists).toMatchObject([{ list: 'routes', held: 1 }, { held: 0 }])
    expect(heldRuns).toEqual([
      {
        runId: held.runId,
        list: 'routes',
        since: expect.any(String) as string,
        lists: 1,
        reason: { code: 'mass_absence', text: expect.any(String) as string },
        // It lacks over half of the routes.
        rejectedAt: null,
        releasableAt: null,
      },
    ])
  })

  it('a reseller’s status covers only its own fares', async ({ db }) => {
    const mine = await fareOfAge(db, 'mine', 100)
    const alpha = await watchFare(db, 'alpha', mine)
    const beta = await watchFare(db, 'beta', await fareOfAge(db, 'theirs', 3_000))
    await watchFare(db, 'alpha', await fareOfAge(db, 'paused', 1_000))
    await sql`update watch set paused_at = now() where reseller_id = ${alpha} and tracked_fare_id <> ${mine}`.execute(
      db,
    )
    const keyOf = async (resellerId: number) => (await createApiKey(db, { resellerId })).text

    const first = await statusOf(db, await keyOf(alpha))
    const second = await statusOf(db, await keyOf(beta))

    const hidden = { budget: null, detectionDelays: null, routes: null, feeds: null }
    expect(first).toMatchObject({ beliefs: { fares: 1 }, ...hidden })
    expect(second).toMatchObject({ beliefs: { fares: 1 }, ...hidden })
    const oldest = [first, second].map(
      ({ beliefs }) => (beliefs as { ageSeconds: { max: number } }).ageSeconds.max,
    )
    expect(oldest.map((age) => Math.round(age / 100) * 100)).toEqual([100, 3_000])
  })

  it('a reseller’s status covers only its own deliveries, and warns of its endpoints alone', async ({
    db,
  }) => {
    const { alpha, keys } = await seedApi(db)
    await sql`update webhook_endpoint set failures = 1, failing_since = clock_timestamp() where reseller_id = ${alpha}`.execute(
      db,
    )

    const recordedAt = '2026-01-02T03:04:05.000Z'
    // It waits for its next attempt.
    await sql`
      insert into delivery (endpoint_id, seq, previous_seq, recorded_at, due_at)
      select id, 2, 1, ${recordedAt}, clock_timestamp() + interval '1 hour' from webhook_endpoint where reseller_id = ${alpha}
    `.execute(db)

    const statuses = [await statusOf(db, keys.alpha), await statusOf(db, keys.beta)]

    const failing = statuses.map(({ deliveries, warnings }) => [
      (deliveries as Status['deliveries']).endpoints.failing,
      (deliveries as Status['deliveries']).oldestPendingAt,
      (warnings as Status['warnings']).flatMap(({ about, code }) =>
        about === 'deliveries' ? code : [],
      ),
    ])
    expect(failing).toEqual([
      [1, recordedAt, ['deliveries_dying', 'endpoints_failing']],
      [0, null, []],
    ])
  })
})
