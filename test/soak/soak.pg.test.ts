import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/db/database.ts'
import { brokenFeeds } from '../chaos/records.ts'
import { it } from '../support/test-database.ts'
import { runSoak, type SoakLog, seeded } from './run-soak.ts'
import { modelKinds } from './soak-model.ts'

const SECONDS = Number(process.env.SOAK_SECONDS ?? 60)
/** Fifteen hours of sandbox time. In more time so many fares sell out within five minutes that the mass-loss guard holds them. */
const WORLD_SECONDS = 54_000
const REQUESTS_PER_SECOND = 60
const QUESTIONS = 200
const AVAILABILITY_KINDS = ['became_available', 'became_unavailable', 'legs_changed']

interface FareRow {
  readonly key: string
  readonly legs: string[]
  readonly kinds: string[]
  readonly believed: string
  readonly replayed: string | null
}

async function readFares(db: Db): Promise<FareRow[]> {
  const { rows } = await sql<FareRow>`
    select f.flight_id || '|' || coalesce(f.return_flight_id, '') as key,
           array_remove(array[f.flight_id, f.return_flight_id], null) as legs,
           coalesce(array_agg(c.kind order by c.seq) filter (where c.kind = any(${AVAILABILITY_KINDS}::text[])), '{}') as kinds,
           s.pair as believed,
           (array_agg(c.after ->> 'pair' order by c.seq desc) filter (where c.seq is not null))[1] as replayed
      from tracked_fare f
      join fare_state s on s.tracked_fare_id = f.id
      left join availability_change c on c.tracked_fare_id = f.id
     group by f.id, s.pair
  `.execute(db)
  return rows
}

/** The highest number of requests in any window of this length. */
function mostWithin(times: readonly number[], seconds: number): number {
  const sorted = [...times].sort((a, b) => a - b)
  let from = 0
  let most = 0
  for (const [to, time] of sorted.entries()) {
    while (time - (sorted[from] ?? time) > seconds * 1000) from += 1
    most = Math.max(most, to - from + 1)
  }
  return most
}

function differences(fares: readonly FareRow[], log: SoakLog): string[] {
  return fares.flatMap(({ key, legs, kinds }) => {
    const expected = modelKinds(log.answers.get(key) ?? [], legs)
    return expected.join() === kinds.join()
      ? []
      : [`${key}: ${kinds.join()} instead of ${expected.join()}`]
  })
}

describe('a minute of checks in which the proxy corrupts a tenth of the answers', () => {
  it('records exactly the changes that follow from the log of the upstream', async ({
    db,
    databaseUrl,
  }) => {
    const log = await runSoak({
      db,
      databaseUrl,
      seconds: SECONDS,
      questions: QUESTIONS,
      requestsPerSecond: REQUESTS_PER_SECOND,
      speed: WORLD_SECONDS / SECONDS,
      faultShare: 0.1,
      random: seeded(11),
    })
    const fares = await readFares(db)
    const corrupted = Object.values(log.corrupted).reduce((sum, n) => sum + n, 0)
    const changes = fares.flatMap((fare) => fare.kinds)
    const losses = changes.filter((kind) => kind === 'became_unavailable').length
    process.stdout.write(
      `soak: ${log.requestsMs.length} answers, ${corrupted} corrupted, ${changes.length} changes (${losses} losses) of ${fares.length} fares\n`,
    )

    // An incident would hold losses that the model confirms, so this run must not open one.
    const incidents = await sql`select kind from incident`.execute(db)
    expect(incidents.rows).toEqual([])
    expect(fares).toHaveLength(QUESTIONS)
    expect(losses).toBeGreaterThan(10)
    expect(corrupted).toBeGreaterThan(100)
    expect(differences(fares, log)).toEqual([])
    expect(fares.filter((f) => f.replayed !== null && f.replayed !== f.believed)).toEqual([])
    for (const window of [1, 5, 20]) {
      expect(mostWithin(log.requestsMs, window)).toBeLessThanOrEqual(
        REQUESTS_PER_SECOND * (window + 1) + 1,
      )
    }

    const feeds = await sql<{ name: string; dense: boolean }>`
      select r.name, count(w.seq) = max(w.seq) and r.last_seq = max(w.seq) as dense
        from reseller r join watch_change w on w.reseller_id = r.id
       group by r.id
       order by r.name
    `.execute(db)
    expect(feeds.rows).toEqual([
      { name: 'ana', dense: true },
      { name: 'ben', dense: true },
    ])
    expect(await brokenFeeds(db)).toEqual([])
  }, 1_500_000)
})
