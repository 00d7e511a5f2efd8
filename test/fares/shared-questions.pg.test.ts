import { describe, expect, onTestFinished } from 'vitest'
import { startSandbox } from '../../sandbox/sandbox-server.ts'
import { searchDemoFlights } from '../../sandbox/world/demo-flights.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import { sql } from '../../src/platform/db/database.ts'
import { createReseller } from '../../src/resellers/resellers.ts'
import { rowsOf } from '../../src/watches/files/open-watch-file.ts'
import { importWatchList } from '../../src/watches/import/import-watch-list.ts'
import { startFarewatch } from '../support/child-process.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'

const TOKEN = 'shared-questions-token'
const QUESTIONS = 500
const WATCHES_EACH = 5_000

interface LogPage {
  readonly entries: readonly { readonly question: { readonly flightId: string } | null }[]
}

describe('ten thousand watches of two resellers on five hundred questions', () => {
  it('the watches share five hundred tracked fares, and each fare is checked once', async ({
    db,
    databaseUrl,
  }) => {
    const sandbox = await startSandbox({
      port: 0,
      seed: 3,
      speed: 1,
      token: TOKEN,
      clock: systemClock,
      log: silentLog,
    })
    onTestFinished(() => sandbox.close())
    const flights = searchDemoFlights(sandbox.world, sandbox.now(), QUESTIONS)
    for (const name of ['ana', 'ben']) {
      const { id } = await createReseller(db, name)
      const rows = Array.from({ length: WATCHES_EACH }, (_, i) => ({
        list: `list ${i % 3}`,
        reference: `w${i}`,
        flight_id: flights[i % QUESTIONS] ?? '',
        residents_adults: '0',
        non_residents_adults: '1',
      }))
      await importWatchList(db, { resellerId: id, source: rowsOf(name, rows) })
    }

    const worker = startFarewatch(['worker'], {
      DATABASE_URL: databaseUrl,
      UPSTREAM_BASE_URL: sandbox.url,
      UPSTREAM_ACCESS_TOKEN: TOKEN,
      UPSTREAM_REQUESTS_PER_SECOND: '100',
      MIN_RECHECK_SECONDS: '3600',
      ROUTE_SYNC_SCHEDULE: '0 0 1 1 *',
      AVAILABILITY_SYNC_SCHEDULE: '0 0 1 1 *',
      ADMIN_PORT: '0',
    })
    onTestFinished(() => void worker.child.kill('SIGKILL'))
    await until('every fare checked', async () => {
      const { rows } = await sql<{ checked: number }>`
        select count(*) as checked from fare_state where last_good_check_at is not null
      `.execute(db)
      return rows[0]?.checked === QUESTIONS
    })
    worker.child.kill('SIGTERM')
    // On a busy machine it may not stop within its grace.
    await worker.ended

    const fares = await sql<{ fares: number; watches: number }>`
      select (select count(*) from tracked_fare) as fares, (select count(*) from watch) as watches
    `.execute(db)
    expect(fares.rows).toEqual([{ fares: QUESTIONS, watches: 2 * WATCHES_EACH }])

    const page = (await (await fetch(`${sandbox.url}/sandbox/log?after=0`)).json()) as LogPage
    const asked = page.entries.flatMap(({ question }) =>
      question === null ? [] : [question.flightId],
    )
    expect(new Set(asked).size).toBe(QUESTIONS)
    const unconfirmed = await sql<{ count: number }>`
      select count(*) as count from fare_state where pair <> 'bookable'
    `.execute(db)
    // Once each, and a confirmation of those that were unavailable.
    expect(asked.length).toBeLessThanOrEqual(QUESTIONS + 2 * Number(unconfirmed.rows[0]?.count))
  })
})
