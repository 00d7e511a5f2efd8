/** Ten years of route history for bench/as-of.ts, written by a few set-based statements, the same in every run. */
import { type Db, sql } from '../src/platform/db/database.ts'

/** The size of a history. */
export interface HistoryShape {
  /** Routes live at any moment. */
  readonly routes: number
  readonly places: number
  readonly years: number
  /** The average life of a route. Then another route replaces it; most return later. */
  readonly routeDays: number
  /** The average length of an interval of availability. */
  readonly availabilityDays: number
  /** The average length of an interval of a place's attributes. */
  readonly placeDays: number
}

/** Lists applied a day. Every change belongs to one of them. */
const LISTS_PER_DAY = 4
/** The routes that replace each other at one position of the network. */
const POOL = 4
export const BEGIN = new Date('2016-01-01T00:00:00Z')

export async function seedHistory(db: Db, shape: HistoryShape): Promise<void> {
  await db.connection().execute(async (session) => {
    await sql`set statement_timeout = 0`.execute(session)
    await sql`set work_mem = '256MB'`.execute(session)
    await sql`select setseed(0.5)`.execute(session)
    await seedRuns(session, shape)
    await seedPositions(session, shape)
    await seedLives(session, shape)
    await seedRoutes(session)
    await seedAvailability(session, shape)
    await seedPlaces(session, shape)
    await sql`reset work_mem`.execute(session)
    await sql`vacuum (analyze) route_version, route_availability_version, place_version`.execute(
      session,
    )
  })
}

/** When the list with number `at` was fetched. */
function fetchedAt(at: string) {
  return sql`${BEGIN}::timestamptz + ${sql.raw(at)} * interval '1 day' / ${sql.lit(LISTS_PER_DAY)}`
}

function listsIn({ years }: HistoryShape): number {
  return Math.floor(years * 365.25 * LISTS_PER_DAY)
}

async function seedRuns(db: Db, shape: HistoryShape): Promise<void> {
  await sql`
    insert into sync_run (list, status, baseline, started_at, fetched_at, finished_at, content_hash,
                          fetched, duplicates, conflicting_places)
    select 'routes', 'applied', n = 0, ${fetchedAt('n')}, ${fetchedAt('n')}, ${fetchedAt('n')}, md5(n::text),
           ${shape.routes}::int, 0, 0
      from generate_series(0, ${listsIn(shape) - 1}::int) n
  `.execute(db)
}

/** A few hubs and many small places: the largest has about 1.6 % of the routes, the median a handful. */
async function seedPositions(db: Db, { routes, places }: HistoryShape): Promise<void> {
  await sql`
    create temp table position as
    select pos, departure, row_number() over (partition by departure order by pos) as nth
      from (select n as pos, floor(${places}::int * power(random(), 2))::int as departure
              from generate_series(1, ${routes}::int) n) s
  `.execute(db)
}

/** The lives of the routes: at each position one route follows another, without a gap. */
async function seedLives(db: Db, shape: HistoryShape): Promise<void> {
  const lists = listsIn(shape)
  const mean = shape.routeDays * LISTS_PER_DAY
  await sql`
    create temp table life as
    select 'P' || departure as departure_id,
           'P' || (departure + 7 * (nth * ${POOL}::int + nr % ${POOL}::int)) % ${shape.places}::int as destination_id,
           from_list, nullif(least(to_list, ${lists}::int), ${lists}::int) as to_list
      from (select pos, departure, nth, nr,
                   coalesce(lag(until) over w, 0) as from_list, until as to_list
              from (select *, (sum(lasts) over (partition by pos order by nr))::int as until
                      from (select pos, departure, nth, nr,
                                   ceil(-ln(1 - random()) * ${mean}::float)::int + 1 as lasts
                              from position, generate_series(1, ${Math.ceil((2.5 * lists) / mean) + 10}::int) nr) l) u
            window w as (partition by pos order by nr)) s
     where from_list < ${lists}::int
  `.execute(db)
}

async function seedRoutes(db: Db): Promise<void> {
  await sql`
    insert into route_version (departure_id, destination_id, valid_from, valid_to, added_by, removed_by)
    select departure_id, destination_id, ${fetchedAt('from_list')}, ${fetchedAt('to_list')},
           1 + from_list, case when to_list is not null then 1 + to_list end
      from life
     order by from_list
  `.execute(db)
}

/** Alternating availability within each route's life. */
async function seedAvailability(db: Db, shape: HistoryShape): Promise<void> {
  const mean = shape.availabilityDays * LISTS_PER_DAY
  await sql`
    create temp table numbered_life as
    select row_number() over () as id, departure_id, destination_id, from_list, to_list,
           coalesce(to_list, ${listsIn(shape)}::int) - from_list as lists
      from life
  `.execute(db)
  await sql`
    create temp table availability_interval as
    select id, nr, (sum(lasts) over w)::int - lasts as since, (sum(lasts) over w)::int as until
      from (select id, nr, ceil(-ln(1 - random()) * ${mean}::float)::int as lasts
              from numbered_life, generate_series(1, (3 * lists / ${mean}::float)::int + 9) nr) l
    window w as (partition by id order by nr)
  `.execute(db)
  await sql`
    insert into route_availability_version (departure_id, destination_id, available, valid_from, valid_to)
    select departure_id, destination_id, nr % 2 = 1, ${fetchedAt('(from_list + since)')},
           ${fetchedAt('case when until < lists then from_list + until else to_list end')}
      from numbered_life
      join availability_interval using (id)
     where since < lists
     order by from_list + since
  `.execute(db)
}

async function seedPlaces(db: Db, shape: HistoryShape): Promise<void> {
  const lists = listsIn(shape)
  const mean = shape.placeDays * LISTS_PER_DAY
  await sql`
    insert into place_version (place_id, iata, city, country, valid_from, valid_to)
    select 'P' || place, 'X' || place, 'City ' || place || ' ' || nr, 'Country ' || place % 90,
           ${fetchedAt('since')}, ${fetchedAt('case when until < lists then until end')}
      from (select place, nr, ${lists}::int as lists,
                   (sum(lasts) over w)::int - lasts as since, (sum(lasts) over w)::int as until
              from (select place, nr, ceil(-ln(1 - random()) * ${mean}::float)::int as lasts
                      from generate_series(0, ${shape.places - 1}::int) place,
                           generate_series(1, ${Math.ceil((3 * lists) / mean) + 9}::int) nr) l
            window w as (partition by place order by nr)) p
     where since < lists
  `.execute(db)
}
