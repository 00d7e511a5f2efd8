/** Ten years of route history for bench/as-of.ts, made by a few set-based statements, the same in every run. */
import { type Db, sql } from '../src/db/database.ts'

/** Of routes live at any moment, of places, and of the years. */
export interface HistoryShape {
  readonly routes: number
  readonly places: number
  readonly years: number
  /** A route is flown for so long on average, then another takes its place; most come back. */
  readonly routeDays: number
  /** An availability holds for so long on average. */
  readonly availabilityDays: number
  /** The attributes of a place hold for so long on average. */
  readonly placeDays: number
}

/** Lists are applied so many times a day, and every change falls on one of them. */
const LISTS_PER_DAY = 4
/** A place of the network holds this many routes in turn: what ends may come back later. */
const POOL = 4
export const BEGIN = new Date('2016-01-01T00:00:00Z')

export async function seedHistory(db: Db, shape: HistoryShape): Promise<void> {
  await db.connection().execute(async (session) => {
    await sql`set statement_timeout = 0`.execute(session)
    await sql`set work_mem = '256MB'`.execute(session)
    await sql`select setseed(0.5)`.execute(session)
    await seedRuns(session, shape)
    await seedSlots(session, shape)
    await seedSpells(session, shape)
    await seedRoutes(session)
    await seedAvailability(session, shape)
    await seedPlaces(session, shape)
    await sql`reset work_mem`.execute(session)
    await sql`vacuum (analyze) route_version, route_availability_version, place_version`.execute(
      session,
    )
  })
}

/** When the list number `at` was fetched. */
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

/** Few hubs and many small places: the largest holds some 1.6 % of the routes, the median one a handful. */
async function seedSlots(db: Db, { routes, places }: HistoryShape): Promise<void> {
  await sql`
    create temp table slot as
    select slot, departure, row_number() over (partition by departure order by slot) as nth
      from (select n as slot, floor(${places}::int * power(random(), 2))::int as departure
              from generate_series(1, ${routes}::int) n) s
  `.execute(db)
}

/** Each slot is taken by one of its routes after the other, without a gap. */
async function seedSpells(db: Db, shape: HistoryShape): Promise<void> {
  const lists = listsIn(shape)
  const mean = shape.routeDays * LISTS_PER_DAY
  await sql`
    create temp table spell as
    select 'P' || departure as departure_id,
           'P' || (departure + 7 * (nth * ${POOL}::int + turn % ${POOL}::int)) % ${shape.places}::int as destination_id,
           from_list, nullif(least(to_list, ${lists}::int), ${lists}::int) as to_list
      from (select slot, departure, nth, turn,
                   coalesce(lag(until) over w, 0) as from_list, until as to_list
              from (select *, (sum(lasts) over (partition by slot order by turn))::int as until
                      from (select slot, departure, nth, turn,
                                   ceil(-ln(1 - random()) * ${mean}::float)::int + 1 as lasts
                              from slot, generate_series(1, ${Math.ceil((2.5 * lists) / mean) + 10}::int) turn) l) u
            window w as (partition by slot order by turn)) s
     where from_list < ${lists}::int
  `.execute(db)
}

async function seedRoutes(db: Db): Promise<void> {
  await sql`
    insert into route_version (departure_id, destination_id, valid_from, valid_to, added_by, removed_by)
    select departure_id, destination_id, ${fetchedAt('from_list')}, ${fetchedAt('to_list')},
           1 + from_list, case when to_list is not null then 1 + to_list end
      from spell
     order by from_list
  `.execute(db)
}

/** Available and not in turns, within each route's life. */
async function seedAvailability(db: Db, shape: HistoryShape): Promise<void> {
  const mean = shape.availabilityDays * LISTS_PER_DAY
  await sql`
    create temp table life as
    select row_number() over () as id, departure_id, destination_id, from_list, to_list,
           coalesce(to_list, ${listsIn(shape)}::int) - from_list as lists
      from spell
  `.execute(db)
  await sql`
    create temp table stretch as
    select id, turn, (sum(lasts) over w)::int - lasts as since, (sum(lasts) over w)::int as until
      from (select id, turn, ceil(-ln(1 - random()) * ${mean}::float)::int as lasts
              from life, generate_series(1, (3 * lists / ${mean}::float)::int + 9) turn) l
    window w as (partition by id order by turn)
  `.execute(db)
  await sql`
    insert into route_availability_version (departure_id, destination_id, available, valid_from, valid_to)
    select departure_id, destination_id, turn % 2 = 1, ${fetchedAt('(from_list + since)')},
           ${fetchedAt('case when until < lists then from_list + until else to_list end')}
      from life
      join stretch using (id)
     where since < lists
     order by from_list + since
  `.execute(db)
}

async function seedPlaces(db: Db, shape: HistoryShape): Promise<void> {
  const lists = listsIn(shape)
  const mean = shape.placeDays * LISTS_PER_DAY
  await sql`
    insert into place_version (place_id, iata, city, country, valid_from, valid_to)
    select 'P' || place, 'X' || place, 'City ' || place || ' ' || turn, 'Country ' || place % 90,
           ${fetchedAt('since')}, ${fetchedAt('case when until < lists then until end')}
      from (select place, turn, ${lists}::int as lists,
                   (sum(lasts) over w)::int - lasts as since, (sum(lasts) over w)::int as until
              from (select place, turn, ceil(-ln(1 - random()) * ${mean}::float)::int as lasts
                      from generate_series(0, ${shape.places - 1}::int) place,
                           generate_series(1, ${Math.ceil((3 * lists) / mean) + 9}::int) turn) l
            window w as (partition by place order by turn)) p
     where since < lists
  `.execute(db)
}
