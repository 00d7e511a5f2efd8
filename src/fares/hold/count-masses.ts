import { HELD_KINDS, type HeldKind } from '../../platform/base/kinds.ts'
import { type Db, PREPARED, sql, type Tx } from '../../platform/db/database.ts'
import { affected } from '../../platform/db/transaction.ts'
import type { AskedLeg, Mass } from '../decide/mass.ts'

/** What the last answer about a flight showed, to one of its fares. */
export interface AskedFlight extends AskedLeg {
  readonly fareId: number
  readonly askedAt: Date
  /** The usual time between two checks of the fare. */
  readonly intervalSeconds: number
}

/** A change counts as new for so long, or for two rounds of its fare; never for longer than an hour. */
const NEW_SECONDS = { least: 300, most: 3_600 }

/** How long a change counts as new that is first seen, or recorded, now. */
export function newSeconds(intervalSeconds: number): number {
  return Math.min(NEW_SECONDS.most, Math.max(NEW_SECONDS.least, 2 * intervalSeconds))
}

/** What another fare of the flight shows, and what was recorded, stays while it counts, unless the flight returns. */
const STAYS = sql`
  excluded.shows is null and not excluded.is_recorded and (a.is_recorded or a.fare_id <> excluded.fare_id) and a.counts_until > excluded.asked_at
`
const orStays = (column: string) => sql`
  ${sql.ref(column)} = case when ${STAYS} then a.${sql.ref(column)} else excluded.${sql.ref(column)} end
`
const KEPT = ['fare_id', 'shows', 'since', 'counts_until', 'differences', 'is_recorded']

/**
 * Keeps what answers showed of flights, as the last that was shown of each. In the order of the flights: transactions
 * that meet must not deadlock.
 */
export async function saveAsked(tx: Tx, asked: readonly AskedFlight[]): Promise<void> {
  if (asked.length === 0) return
  const rows = asked.map((one) => ({ ...one, seconds: newSeconds(one.intervalSeconds) }))
  await sql`${PREPARED}
    insert into asked_flight as a (flight_id, fare_id, asked_at, is_available, airline, numbers, shows, since,
                                   counts_until, differences, is_recorded)
    select distinct on (1) case b.leg when 'outbound' then f.flight_id else f.return_flight_id end, f.id, b."askedAt",
           b."isAvailable", b.airline, b.numbers, b.shows, b.since, b.since + make_interval(secs => b.seconds),
           b.differences, b."isReturn"
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
             as b ("fareId" bigint, leg text, "askedAt" timestamptz, "isAvailable" boolean, airline text, numbers text,
                   shows text, "isReturn" boolean, since timestamptz, seconds float8, differences text[])
      join tracked_fare f on f.id = b."fareId"
     order by 1, b.shows is null
        on conflict (flight_id) do update
       set asked_at = greatest(a.asked_at, excluded.asked_at), is_available = excluded.is_available,
           airline = excluded.airline, numbers = excluded.numbers, ${sql.join(KEPT.map(orStays))}
  `.execute(tx)
}

/** The changes of these fares were recorded at an instant: those that count are new from then on. */
export async function markRecorded(
  tx: Tx,
  recorded: readonly {
    readonly fareId: number
    readonly at: Date
    readonly intervalSeconds: number
    readonly counts: boolean
  }[],
): Promise<void> {
  if (recorded.length === 0) return
  const rows = recorded.map((one) => ({ ...one, seconds: newSeconds(one.intervalSeconds) }))
  await sql`
    update asked_flight a
       set is_recorded = true,
           counts_until = case when b.counts then b.at + make_interval(secs => b.seconds) else '-infinity' end
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
             as b ("fareId" bigint, at timestamptz, seconds float8, counts boolean)
      join tracked_fare f on f.id = b."fareId"
     where a.flight_id in (f.flight_id, f.return_flight_id) and a.fare_id = f.id and a.shows is not null
  `.execute(tx)
}

/** A mass of one kind is judged by so many flights. */
const FLIGHTS = 100
/** A flight that can show a kind is looked for among so many. */
const ROWS_READ = 10 * FLIGHTS
const [SHARE, MINIMUM] = [0.3, 20]
/** Changes of one airline, or of one difference. */
const [SHARE_OF_AIRLINE, FEW] = [0.5, 5]

/** The flights that decide whether there is a mass. */
export interface MassCount extends Mass {
  /** Those that can show it, of the last that were asked. */
  readonly asked: number
  /** Those of them whose change is new. */
  readonly changed: number
}

/**
 * Whether so many flights change at once that the answers are more likely wrong than true: a credential with the wrong
 * scope, a provider that is down, dates or prices of another system. It is over at half of what begins it, so that
 * a mass at the limit is not released with every second batch.
 */
export function isMass(count: MassCount, isOpen: boolean): boolean {
  const { asked, changed, airline, difference } = count
  if (difference !== null) return changed >= FEW
  if (airline !== null) return changed >= FEW && changed > SHARE_OF_AIRLINE * asked
  const part = isOpen ? 0.5 : 1
  return changed >= part * MINIMUM && changed > part * SHARE * asked
}

export interface CountArgs {
  /** The time of the last answer. */
  readonly at: Date
  readonly releasedAt: ReadonlyMap<HeldKind, Date>
  /** The airlines and the differences that are counted. */
  readonly airlines: readonly string[]
  readonly differences: readonly string[]
}

/**
 * Counts the flights whose change is new: of each kind among the last hundred that can show it, the losses of an
 * airline among its last hundred that were asked since the first of them, and different flights with one difference.
 * What an operator has released does not count.
 */
export async function countMasses(tx: Tx, args: CountArgs): Promise<MassCount[]> {
  const { at, releasedAt, airlines, differences } = args
  const isNew = sql`
    (a.counts_until > ${at}::timestamptz
     and a.since > coalesce((${JSON.stringify(Object.fromEntries(releasedAt))}::jsonb ->> a.shows)::timestamptz, '-infinity'))
  `
  const { rows } = await sql<MassCount>`${PREPARED}
    with last as materialized (
      select a.*, a.shows is not null and ${isNew} as is_new from asked_flight a order by a.asked_at desc limit ${ROWS_READ}
    )
    select k.kind, null as airline, null as difference, count(*) as asked, count(*) filter (where f.is_new and f.shows = k.kind) as changed
      from unnest(${[...HELD_KINDS]}::text[]) k (kind)
     cross join lateral (
           select * from last
            where shows = k.kind or k.kind = 'expired' or is_available = (k.kind <> 'became_available')
            order by asked_at desc limit ${FLIGHTS}) f
     group by k.kind
     union all
    select 'became_unavailable', l.airline, null, count(*) filter (where f.asked_at >= f.first), count(*) filter (where f.is_new)
      from unnest(${airlines}::text[]) l (airline)
     cross join lateral (
           select *, min(since) filter (where is_new) over () as first
             from (select a.asked_at, a.since, coalesce(a.shows = 'became_unavailable' and ${isNew}, false) as is_new
                     from asked_flight a
                    where a.airline = l.airline and (a.is_available or a.shows = 'became_unavailable')
                    order by a.asked_at desc limit ${FLIGHTS}) r) f
     group by l.airline
     union all
    select a.shows, null, d.difference, count(distinct a.numbers), count(distinct a.numbers)
      from unnest(${differences}::text[]) d (difference)
      join asked_flight a on a.differences @> array[d.difference] and a.shows is not null and ${isNew}
     group by a.shows, d.difference
  `.execute(tx)
  return rows
}

/** Deletes what no count reads. Returns how many. */
export async function pruneAsked(db: Db): Promise<number> {
  return affected(
    sql`delete from asked_flight where asked_at < clock_timestamp() - interval '2 hours'`,
    db,
  )
}
