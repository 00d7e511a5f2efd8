import {
  HELD_BY,
  HELD_KINDS,
  type HeldKind,
  type IncidentKind,
  type MassKind,
} from '../../platform/base/kinds.ts'
import { type Db, PREPARED, sql, type Tx } from '../../platform/db/database.ts'
import { affected, selectOne } from '../../platform/db/transaction.ts'
import type { AskedLeg } from '../decide/decide.ts'

/** Upstream trouble holds nothing: it slows the checks. */
export function isMassKind(kind: IncidentKind): kind is MassKind {
  return kind !== 'upstream_trouble'
}

/** What decides whether there is a mass of changes of one kind. */
export interface MassCounts {
  /** Of the last hundred flights asked that can show the kind, those asked within MASS_HOLD_MINUTES. */
  readonly asked: number
  /** Those of them whose last answer shows it. */
  readonly changed: number
}

/** What decides whether there is upstream trouble. */
export interface CheckCounts {
  readonly checks: number
  /** Those of the checks that were unknown for a reason that may lie with the upstream. */
  readonly unknown: number
}

/** A mass is judged by so many flights. */
const MASS_FLIGHTS = 100
const MASS_SHARE = 0.3
const MASS_MINIMUM = 20
const TROUBLE_SHARE = 0.5
const TROUBLE_MINIMUM = 20
/** Few checks decide that trouble is over: it cuts the rate to a tenth of the budget, maybe to one check a minute. */
const TROUBLE_OVER_MINIMUM = 5

/**
 * Whether so many flights change at once that the answers are more likely wrong than true: a credential with the wrong
 * scope, a provider that is down, dates or prices of another system. It is over at half of what begins it, so that
 * a mass at the limit is not released with every second batch.
 */
export function isMass({ asked, changed }: MassCounts, { isOpen }: { readonly isOpen: boolean }) {
  const part = isOpen ? 0.5 : 1
  return changed >= part * MASS_MINIMUM && changed > part * MASS_SHARE * asked
}

/** Whether so many checks are unknown that checking at the full rate would only add to the upstream's trouble. */
export function isUpstreamTrouble({ checks, unknown }: CheckCounts): boolean {
  return checks >= TROUBLE_MINIMUM && unknown > TROUBLE_SHARE * checks
}

/** Whether upstream trouble is over. It takes enough checks: too few prove nothing. */
export function isTroubleOver({ checks, unknown }: CheckCounts): boolean {
  return checks >= TROUBLE_OVER_MINIMUM && unknown <= TROUBLE_SHARE * checks
}

export interface IncidentStates {
  readonly open: ReadonlySet<IncidentKind>
  /** When an operator last closed a mass, by the kind of change that it held: what waited then is released. */
  readonly releasedAt: ReadonlyMap<HeldKind, Date>
}

/** The open incidents, and what operators have released in the last day. */
export async function readIncidentStates(db: Db): Promise<IncidentStates> {
  const { rows } = await sql<{
    kind: IncidentKind
    isOpen: boolean
    releasedAt: Date | null
  }>`${PREPARED}
    select kind, bool_or(closed_at is null) as "isOpen",
           max(closed_at) filter (where detail @> '{"closedBy": "operator"}') as "releasedAt"
      from incident
     where closed_at is null or closed_at > clock_timestamp() - interval '1 day'
     group by kind
  `.execute(db)
  return {
    open: new Set(rows.filter(({ isOpen }) => isOpen).map(({ kind }) => kind)),
    releasedAt: new Map(
      rows.flatMap(({ kind, releasedAt }) =>
        isMassKind(kind) && releasedAt !== null ? [[HELD_BY[kind], releasedAt]] : [],
      ),
    ),
  }
}

/** What one answer showed of one flight. */
export type AskedFlight = AskedLeg & { readonly fareId: number }

/** Keeps what answers showed of flights, as the last that was shown of them. */
export async function insertAsked(tx: Tx, asked: readonly AskedFlight[]): Promise<void> {
  if (asked.length === 0) return
  await sql`${PREPARED}
    insert into asked_flight (flight_id, is_available, shows, fare_id)
    select case a.leg when 'outbound' then f.flight_id else f.return_flight_id end, a.is_available, a.shows, f.id
      from unnest(${asked.map((a) => a.fareId)}::bigint[], ${asked.map((a) => a.leg)}::text[],
                  ${asked.map((a) => a.isAvailable)}::boolean[], ${asked.map((a) => a.shows)}::text[])
             as a (fare_id, leg, is_available, shows)
      join tracked_fare f on f.id = a.fare_id
  `.execute(tx)
}

/** A flight may be asked several times, so more rows are read than flights are judged. */
const ROWS_READ = 10 * MASS_FLIGHTS
/** A gain waits for its confirmation at most about as long. */
const CANDIDATE_SECONDS = 60

interface Masses {
  readonly counts: ReadonlyMap<HeldKind, MassCounts>
  /** The flights with a gain that is not confirmed yet. */
  readonly gains: number
}

/** What the last answers showed of each flight, to each fare: of both kinds of flights the last hundred. */
const lastFlights = (withinMs: number) => {
  const rows = (isAvailable: boolean) => sql`
    (select * from asked_flight where is_available = ${sql.lit(isAvailable)} order by seq desc limit ${ROWS_READ})
  `
  return sql`
    select *
      from (select *, dense_rank() over (partition by is_available order by last_seq desc) as place
              from (select *, max(seq) over (partition by is_available, flight_id) as last_seq
                      from (select distinct on (fare_id, flight_id) *
                              from (select * from ${rows(true)} a union all select * from ${rows(false)} b) r
                             where asked_at > clock_timestamp() - make_interval(secs => ${withinMs / 1000})
                             order by fare_id, flight_id, seq desc) f) l) p
     where place <= ${MASS_FLIGHTS}
  `
}

/**
 * The change of fare `a` that was recorded in the time of the mass and not held, if it has no other record of that
 * time: one that comes and goes is no part of a mass, and neither is the first reading of a fare. Prices are left
 * out: only steps above a fifth count, and a record does not say which it is.
 */
const recorded = (withinMs: number) => sql`
  select min(kind) as kind
    from (select kind, recorded_at, held_since, before ->> 'pair' as was
            from availability_change
           where tracked_fare_id = a.fare_id and a.shows is null
           order by seq desc
           limit 3) c
   where recorded_at > clock_timestamp() - make_interval(secs => ${withinMs / 1000}) and was <> 'unknown'
  having count(*) = 1 and bool_and(held_since is null)
     and case min(kind) when 'became_unavailable' then not a.is_available when 'became_available' then a.is_available
                        else min(kind) in ('identity_changed', 'itinerary_changed') end
`

/**
 * Counts the last hundred flights that can show each kind of change: a flight believed available can be lost or change,
 * another can be gained, and any can depart. A flight counts while the last answer to one of its fares shows the
 * change, and after that was recorded. Fares that had such changes on three days of the last thirty are left out:
 * they change often, whatever the others do.
 */
export async function readMasses(tx: Tx, withinMs: number): Promise<Masses> {
  const { rows } = await sql<MassCounts & { kind: HeldKind; fresh: number }>`
    with shown as materialized (
      select a.*, coalesce(a.shows, r.kind) as change
        from (${lastFlights(withinMs)}) a
        left join lateral (${recorded(withinMs)}) r on true
    ), judged as (
      select k.kind, s.flight_id, bool_or(s.change = k.kind) as changes,
             bool_or(s.shows = k.kind
                     and s.asked_at > clock_timestamp() - make_interval(secs => ${CANDIDATE_SECONDS})) as waits,
             row_number() over (partition by k.kind order by max(s.seq) desc) as place
        from unnest(${[...HELD_KINDS]}::text[]) k (kind)
        join shown s on s.change = k.kind or case k.kind when 'expired' then true when 'became_available' then not s.is_available
                                                         else s.is_available end
       where s.change is null
          or not exists (select from availability_change c
                          where c.tracked_fare_id = s.fare_id and c.kind = s.change
                            and c.recorded_at > clock_timestamp() - interval '30 days'
                         having count(distinct date_trunc('day', c.recorded_at)) >= 3)
       group by k.kind, s.flight_id
    )
    select kind, count(*) as asked, count(*) filter (where changes) as changed, count(*) filter (where waits) as fresh
      from judged
     where place <= ${MASS_FLIGHTS}
     group by kind
  `.execute(tx)
  return {
    counts: new Map(rows.map(({ kind, asked, changed }) => [kind, { asked, changed }])),
    gains: rows.find(({ kind }) => kind === 'became_available')?.fresh ?? 0,
  }
}

/** Deletes what is older than the last rows that are read. Returns how many. */
export async function pruneAsked(db: Db): Promise<number> {
  return affected(
    sql`
      delete from asked_flight a
       using (values (true), (false)) side (is_available)
       where a.is_available = side.is_available
         and a.seq < (select seq from asked_flight o
                       where o.is_available = side.is_available order by seq desc offset ${ROWS_READ} limit 1)
    `,
    db,
  )
}

/** Adds checks to the counts by minute. Returns the counts of the last two minutes. */
export async function addCheckCounts(tx: Tx, added: CheckCounts): Promise<CheckCounts> {
  return selectOne(
    sql<CheckCounts>`${PREPARED}
      with own as (
        insert into check_minute as m (minute, checks, unknown)
        values (date_trunc('minute', clock_timestamp()), ${added.checks}, ${added.unknown})
            on conflict (minute) do update
           set checks = m.checks + excluded.checks, unknown = m.unknown + excluded.unknown
        returning minute, checks, unknown)
      select own.checks + coalesce(sum(before.checks), 0)::bigint as checks,
             own.unknown + coalesce(sum(before.unknown), 0)::bigint as unknown
        from own
        left join check_minute before
               on before.minute < own.minute and before.minute > clock_timestamp() - interval '2 minutes'
       group by own.checks, own.unknown
    `,
    tx,
  )
}

/**
 * Counts the checks of the last minutes while there is trouble: few checks are made then, so older minutes of the
 * last day count too, newest first, until there are enough checks to decide that it is over.
 */
export async function readTroubleCounts(tx: Tx): Promise<CheckCounts> {
  return selectOne(
    sql<CheckCounts>`
      select coalesce(sum(checks), 0)::bigint as checks, coalesce(sum(unknown), 0)::bigint as unknown
        from (select minute, checks, unknown, sum(checks) over (order by minute desc) - checks as newer
                from check_minute
               where minute <= clock_timestamp() and minute > clock_timestamp() - interval '1 day') m
       where newer < ${TROUBLE_OVER_MINIMUM} or minute > clock_timestamp() - interval '2 minutes'
    `,
    tx,
  )
}

/** Whether any fare is still checked. */
export async function hasScheduledFares(tx: Tx): Promise<boolean> {
  const row = await tx.selectFrom('fare_schedule').select('tracked_fare_id').limit(1).execute()
  return row.length > 0
}
