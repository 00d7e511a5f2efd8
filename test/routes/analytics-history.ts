import { type Db, sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import { savePlaceCodes } from '../../src/routes/places.ts'
import { seedFares } from './analytics-fares.ts'

/** The first and last day of an interval, at the hour of the daily list. An interval without a last day lasts. */
type Days = readonly [from: string, to?: string]

const ROUTES: Readonly<Record<string, readonly Days[]>> = {
  'p1-p2': [['2023-01-01']],
  'p2-p1': [['2023-01-01']],
  'p2-p3': [['2023-01-01', '2025-11-03']],
  'p3-p2': [['2023-01-01', '2026-04-20']],
  // Available every summer.
  'p1-p3': [
    ['2023-05-20', '2023-10-10'],
    ['2024-05-18', '2024-10-05'],
    ['2025-05-24', '2025-10-11'],
    ['2026-05-23'],
  ],
  // Available in two summers of three.
  'p1-p5': [
    ['2024-06-01', '2024-09-15'],
    ['2025-06-10', '2025-09-01'],
  ],
  // Alternating.
  'p3-p4': [
    ['2026-03-01', '2026-03-05'],
    ['2026-03-09', '2026-03-12'],
    ['2026-03-20', '2026-03-25'],
    ['2026-04-02'],
  ],
  // Available through a winter into the third summer, in which it returned twice.
  'p2-p4': [
    ['2023-05-01', '2025-06-10'],
    ['2025-06-20', '2025-07-01'],
    ['2025-07-10', '2025-08-01'],
  ],
  // Two returns in one spring, the first after a winter.
  'p4-p3': [['2025-06-01', '2025-10-01'], ['2026-03-10', '2026-04-10'], ['2026-05-01']],
  'p1-p4': [['2026-04-15']],
}

/** The with-availability list arrives on Mondays. */
const AVAILABLE: Readonly<Record<string, readonly (readonly [boolean, ...Days])[]>> = {
  'p1-p2': [[true, '2023-01-02']],
  'p2-p1': [
    [true, '2023-01-02', '2025-06-02'],
    [false, '2025-06-02', '2025-09-08'],
    [true, '2025-09-08'],
  ],
  'p2-p3': [[true, '2023-01-02', '2025-11-03']],
  'p3-p2': [[true, '2023-01-02', '2026-04-20']],
  'p1-p3': [[false, '2025-06-23', '2025-10-11']],
}

const PLACES: readonly (readonly [string, string, string, string, ...Days])[] = [
  ['p1', 'PMI', 'Palma', 'Spain', '2023-01-01', '2024-03-01'],
  ['p1', 'PMI', 'Palma de Mallorca', 'Spain', '2024-03-01'],
  ['p2', 'MAD', 'Madrid', 'Spain', '2023-01-01'],
  ['p3', 'LIS', 'Lisbon', 'Portugal', '2023-01-01'],
  ['p4', 'OPO', 'Porto', 'Portugal', '2023-01-01'],
  ['p5', 'NCE', 'Nice', '', '2024-06-01', '2025-02-20'],
  ['p5', 'NCE', 'Nice', 'France', '2025-02-20', '2025-08-01'],
  ['p5', 'NCE', "Nice Côte d'Azur", 'France', '2025-08-01'],
]

/** Three and a half years of routes and a spring of fares, with the rows that runs and checks write. */
export async function seedAnalytics(db: Db): Promise<void> {
  await seedRuns(db)
  await seedRoutes(db)
  await seedPlaces(db)
  await deriveRouteChanges(db)
  await seedFares(db)
}

function hourOf(day: string | undefined): string | null {
  return day === undefined ? null : `${day}T06:00Z`
}

/** A routes list each day, except for four failed days in 2025; a with-availability list on Mondays, an hour later. */
async function seedRuns(db: Db): Promise<void> {
  await sql`
    insert into sync_run (list, status, baseline, started_at, fetched_at, finished_at, reason_code)
    select list, case when trouble then 'rejected' else 'applied' end, at in ('2023-01-01T06:00Z', '2023-01-02T06:00Z'),
           at, at, at, case when trouble then 'upstream.contract_violation' end
      from (select list, at, list = 'routes' and at between '2025-02-10T12:00Z' and '2025-02-14T00:00Z' as trouble
              from generate_series('2023-01-01T06:00Z'::timestamptz, '2026-06-30T06:00Z', '1 day') at
             cross join (values ('routes'), ('with-availability')) l (list)
             where list = 'routes' or extract(isodow from at) = 1
             order by at, list) r
  `.execute(db)
  // One of the failed days' lists was held and approved eight hours later; two were dropped; the last list is held.
  await sql`
    insert into sync_run (list, status, started_at, arrived_at, fetched_at, finished_at, reason_code)
    select 'routes', status, at, at, at + approved_after, at + approved_after, 'mass_absence'
      from (values ('dropped', '2025-02-12T18:00Z'::timestamptz, interval '0'),
                   ('approved', '2025-02-13T12:00Z', '8 hours'),
                   ('dropped', '2026-01-10T12:00Z', '0'), ('dropped', '2026-01-10T18:00Z', '0'),
                   ('held', '2026-07-01T06:00Z', '0')) r (status, at, approved_after)
  `.execute(db)
}

async function seedRoutes(db: Db): Promise<void> {
  const routes = Object.entries(ROUTES).flatMap(([pair, intervals]) =>
    intervals.map(([from, to]) => ({ pair, from: hourOf(from), to: hourOf(to) })),
  )
  await sql`
    insert into route_version (departure_id, destination_id, valid_from, valid_to, added_by, removed_by)
    select split_part(pair, '-', 1), split_part(pair, '-', 2), "from", "to", a.id, r.id
      from jsonb_to_recordset(${JSON.stringify(routes)}) v (pair text, "from" timestamptz, "to" timestamptz)
      join sync_run a on a.list = 'routes' and a.fetched_at = "from"
      left join sync_run r on r.list = 'routes' and r.fetched_at = "to"
  `.execute(db)
  const available = Object.entries(AVAILABLE).flatMap(([pair, intervals]) =>
    intervals.map(([yes, from, to]) => ({ pair, yes, from: hourOf(from), to: hourOf(to) })),
  )
  await sql`
    insert into route_availability_version (departure_id, destination_id, available, valid_from, valid_to)
    select split_part(pair, '-', 1), split_part(pair, '-', 2), yes, "from", "to"
      from jsonb_to_recordset(${JSON.stringify(available)})
        as v (pair text, yes boolean, "from" timestamptz, "to" timestamptz)
  `.execute(db)
}

async function seedPlaces(db: Db): Promise<void> {
  const places = PLACES.map(([id, iata, city, country, from, to]) => {
    return { id, iata, city, country, from: hourOf(from), to: hourOf(to) }
  })
  await sql`
    insert into place_version (place_id, iata, city, country, valid_from, valid_to)
    select * from jsonb_to_recordset(${JSON.stringify(places)})
               as v (id text, iata text, city text, country text, "from" timestamptz, "to" timestamptz)
  `.execute(db)
  await inTransaction(db, savePlaceCodes)
}

/** Routes that were added and removed after the baseline. */
async function deriveRouteChanges(db: Db): Promise<void> {
  await sql`
    insert into route_change (seq, kind, departure_id, destination_id, before, after, first_missed_at, recorded_at, sync_run_id)
    select row_number() over (order by at, kind, departure_id, destination_id), kind, departure_id, destination_id,
           case when kind = 'route_removed' then '{"available": null}'::jsonb end,
           case when kind = 'route_added' then '{"available": null}'::jsonb end, at, at, run
      from (select 'route_added' as kind, departure_id, destination_id, valid_from as at, added_by as run
              from route_version
             where valid_from > (select min(fetched_at) from sync_run)
            union all
            select 'route_removed', departure_id, destination_id, valid_to, removed_by
              from route_version
             where valid_to is not null) c
  `.execute(db)
}
