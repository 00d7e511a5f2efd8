import { describe, expect } from 'vitest'
import { systemClock } from '../../src/platform/base/clock.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { withSessionLock } from '../../src/platform/db/session-lock.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import { GUARD_LIMITS } from '../../src/routes/guard.ts'
import { listSyncRuns } from '../../src/routes/runs.ts'
import { syncListJob } from '../../src/routes/sync.ts'
import {
  UpstreamCircuitOpenError,
  UpstreamTimeoutError,
} from '../../src/upstream/upstream-errors.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { livePairs, noScrub, routes, sync, upstreamOf } from './sync-fixtures.ts'

function jobDeps(db: Db, upstream = upstreamOf(JSON.stringify(routes('PMI-BCN')))) {
  return {
    db,
    upstream,
    confirmations: 2,
    guard: GUARD_LIMITS,
    scrub: noScrub,
    metrics: createMetrics(),
    log: silentLog,
    clock: systemClock,
    lastDueAt: () => new Date(0),
  }
}

const signal = new AbortController().signal

// Fault: Contradictory lists: decided the same way every time, and counted; a list with over 16 spellings of a place, or over
// 100,000 places, is rejected.
describe('the job of a due time', () => {
  it('a job is snoozed while another process syncs its list, and names the holder of the lock', async ({
    db,
  }) => {
    const job = { list: 'routes' } as const
    const context = { dueAt: new Date(), signal }

    const attempt = withSessionLock(db, 'route-sync:routes', () =>
      syncListJob(jobDeps(db), job, context),
    )

    await expect(attempt).rejects.toMatchObject({
      code: 'queue.snoozed',
      reason: {
        code: 'sync.busy',
        message: expect.stringMatching(/its lock is held by role \S+, process \d+ \(test\)$/),
      },
    })
    await syncListJob(jobDeps(db), job, context)
    expect(await livePairs(db)).toEqual(['PMI-BCN'])
  })

  it('one list does the work of all jobs that waited during an outage', async ({ db }) => {
    await sync(db, routes('PMI-MAD', 'PMI-BCN'))
    const waiting = Array.from({ length: 5 }, () => ({ dueAt: new Date(), signal }))

    for (const context of waiting) await syncListJob(jobDeps(db), { list: 'routes' }, context)

    expect(await listSyncRuns(db, { limit: 10 })).toHaveLength(2)
    expect(await livePairs(db)).toEqual(['PMI-BCN', 'PMI-MAD'])
  })

  it('a run that got no list does not do the work of a job', async ({ db }) => {
    const job = { list: 'routes' } as const
    const context = { dueAt: new Date(), signal }
    const silent = {
      fetchRouteListIfModified: () =>
        Promise.reject(new UpstreamTimeoutError({ endpoint: 'routes', phase: 'body', afterMs: 1 })),
    }

    await expect(syncListJob(jobDeps(db, silent), job, context)).rejects.toMatchObject({
      code: 'sync.failed',
    })
    await syncListJob(jobDeps(db), job, context)

    expect(await livePairs(db)).toEqual(['PMI-BCN'])
  })

  it('a job is snoozed while the upstream asks to wait, and left to a later due time if there is one', async ({
    db,
  }) => {
    const job = { list: 'routes' } as const
    const context = { dueAt: new Date(), signal }
    const until = new Date(Date.now() + 60_000)
    const stopped = {
      fetchRouteListIfModified: () =>
        Promise.reject(new UpstreamCircuitOpenError({ endpoint: 'routes', by: 'errors', until })),
    }
    const deps = jobDeps(db, stopped)

    const snoozed: unknown = await syncListJob(deps, job, context).catch((err: unknown) => err)
    await syncListJob({ ...deps, lastDueAt: (_list, now) => now }, job, context)

    expect(snoozed).toMatchObject({ code: 'queue.snoozed', reason: { code: 'sync.failed' } })
    expect(snoozed).toHaveProperty('waitMs', expect.closeTo(60_000, -4))
    expect(await listSyncRuns(db, { limit: 10 })).toMatchObject([{ status: 'failed' }])
  })

  // Fault: Runs fail, or their processes end, because of what a list holds.
  it('a list with which two attempts failed is rejected at the third, until the next due time', async ({
    db,
  }) => {
    const job = { list: 'routes' } as const
    const context = { dueAt: new Date(), signal }
    const scrub = () => {
      throw new Error('fails with this list')
    }
    const failing = { ...jobDeps(db), scrub }
    await expect(syncListJob(failing, job, context)).rejects.toThrow('fails with this list')
    // The row of a process that was killed after the list had arrived.
    await sql`update sync_run set status = null, finished_at = null, reason_code = null`.execute(db)
    await expect(syncListJob(failing, job, context)).rejects.toThrow('fails with this list')

    await syncListJob(failing, job, context)
    await syncListJob(jobDeps(db), job, { dueAt: new Date(), signal })

    expect(await listSyncRuns(db, { limit: 10 })).toMatchObject([
      { status: 'applied' },
      { status: 'rejected', reason: { code: 'sync.list_failed_twice' } },
      { status: 'failed', reason: { code: 'internal' } },
      { status: 'failed', reason: { code: 'abandoned' } },
    ])
  })
})
