import { expect } from 'vitest'
import { trackFares } from '../fares/fare-fixtures.ts'
import { blockTable } from '../routes/crash-tools.ts'
import { addressesOf, logLines, startInTest } from '../support/child-process.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'

/** The smallest value that the setting accepts. */
const NO_PROGRESS_SECONDS = 10

function startWorker(databaseUrl: string) {
  return startInTest(['worker'], {
    DATABASE_URL: databaseUrl,
    UPSTREAM_BASE_URL: 'http://127.0.0.1:9',
    ROUTE_SYNC_SCHEDULE: '0 0 1 1 *',
    AVAILABILITY_SYNC_SCHEDULE: '0 0 1 1 *',
    NO_PROGRESS_SECONDS: String(NO_PROGRESS_SECONDS),
    ADMIN_PORT: '0',
  })
}

it('a worker that makes no progress reports it at /livez and ends with a reason while its database answers', async ({
  db,
  databaseUrl,
}) => {
  await trackFares(db, 1)
  // The loop that dispatches checks waits for this table.
  await blockTable(databaseUrl, 'farewatch_private.fare_schedule', 'share')
  const worker = startWorker(databaseUrl)
  const { health } = await addressesOf(worker)
  const livez = health.replace('readyz', 'livez')
  expect(await (await fetch(livez)).json()).toEqual({ status: 'live' })

  const answered = await until('a 503', async () => {
    const answer = await fetch(livez).catch(() => undefined)
    return answer?.status === 503 && ((await answer.json()) as { reason: string })
  })
  expect(answered).toMatchObject({ status: 'no progress' })
  expect(answered.reason).toMatch(/^a run of a loop has not ended for \d+ s/)
  expect(await worker.ended).toBe(1)
  expect(worker.stderr()).toContain('this process makes no progress and ends')
  expect(logLines(worker).filter(({ msg }) => msg === 'no progress')).toHaveLength(1)
})
