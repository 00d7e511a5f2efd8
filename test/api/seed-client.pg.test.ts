import { parse } from 'csv-parse/sync'
import { describe, expect, onTestFinished } from 'vitest'
import type { Sandbox } from '../../sandbox/sandbox-server.ts'
import type { Db } from '../../src/platform/db/database.ts'
import { GUARD_LIMITS } from '../../src/routes/guard.ts'
import { syncList } from '../../src/routes/sync.ts'
import { noScrub } from '../routes/sync-fixtures.ts'
import { flightsThatAre, startTestSandbox, TOKEN } from '../sandbox/support.ts'
import { startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'
import { clientOf } from '../upstream/client-fixture.ts'
import { newReseller } from '../watches/watch-fixtures.ts'
import { type RouteOfList, SeedClient, type VerifyRequest } from './seed-client.ts'
import { keyOf } from './verify-fixture.ts'

const ONE_ADULT = { residents: { adults: 0 }, nonResidents: { adults: 1 } }
const FAMILY = {
  residents: { adults: 1, children: 2, infants: 1 },
  nonResidents: { adults: 2, children: 0, infants: 0 },
}

interface Both {
  readonly sandbox: Sandbox
  readonly upstream: SeedClient
  readonly ours: SeedClient
}

/** A client of a stopped sandbox, and a client of our API, which has synced the sandbox's lists. */
async function both(db: Db): Promise<Both> {
  const sandbox = await startTestSandbox()
  const { client } = clientOf(sandbox.url, { accessToken: TOKEN, scrub: noScrub })
  onTestFinished(async () => {
    await client.close()
    await sandbox.close()
  })
  const deps = { db, upstream: client, confirmations: 2, guard: GUARD_LIMITS, scrub: noScrub }
  const { signal } = new AbortController()
  for (const list of ['routes', 'with-availability'] as const)
    await syncList(deps, { list }, signal)
  const base = await startApi(db, { verify: { upstream: client } })
  const key = await keyOf(db, await newReseller(db))
  return {
    sandbox,
    upstream: new SeedClient(sandbox.url, TOKEN),
    ours: new SeedClient(base, key),
  }
}

/** The order of a list has no meaning. */
function sorted(routes: readonly RouteOfList[]): RouteOfList[] {
  const keyOfRoute = ({ departure, destination }: RouteOfList) =>
    `${departure.id} ${destination.id}`
  return routes.toSorted((a, b) => (keyOfRoute(a) < keyOfRoute(b) ? -1 : 1))
}

describe('a client of the upstream', () => {
  it('a client reads the same lists and CSV from us, and our CSV only has more columns', async ({
    db,
  }) => {
    const { upstream, ours } = await both(db)

    const [routes, available] = [await ours.routes(), await ours.routesWithAvailability()]

    expect(routes.length).toBeGreaterThan(100)
    expect(sorted(routes)).toEqual(sorted(await upstream.routes()))
    expect(sorted(available)).toEqual(sorted(await upstream.routesWithAvailability()))
    expect(available.length).toBeLessThan(routes.length)

    const rowsOf = (text: string) => parse<Record<string, string>>(text, { columns: true })
    const [theirs, own] = [rowsOf(await upstream.routesCsv()), rowsOf(await ours.routesCsv())]
    const columns = Object.keys(theirs[0] ?? {})
    const lines = (rows: readonly Record<string, string>[]) =>
      rows.map((row) => columns.map((column) => row[column]).join(' | ')).toSorted()
    expect(lines(own)).toEqual(lines(theirs))
  })

  it('a client gets the same answers about flights from us', async ({ db }) => {
    const { sandbox, upstream, ours } = await both(db)
    const [here, gone] = [flightsThatAre(sandbox, true), flightsThatAre(sandbox, false)]
    const questions: VerifyRequest[] = [
      ...here.slice(0, 8).map((flightId) => ({ flightId, ...ONE_ADULT })),
      ...gone.slice(0, 4).map((flightId) => ({ flightId, ...ONE_ADULT })),
      { flightId: here[0] ?? '', returnFlightId: here[1] ?? '', ...FAMILY },
      { flightId: here[0] ?? '', returnFlightId: gone[0] ?? '', ...FAMILY },
      { flightId: 'no flight at all', ...ONE_ADULT },
      { flightId: here[2] ?? '', residents: { adults: 'two' }, nonResidents: { adults: '1' } },
    ]
    const answers = []
    for (const question of questions) {
      const answer = await ours.verify(question)
      expect(answer, JSON.stringify(question)).toEqual(await upstream.verify(question))
      answers.push(...Object.values(answer).map(({ available }) => available))
    }
    expect(new Set(answers)).toEqual(new Set([true, false]))
  })
})
