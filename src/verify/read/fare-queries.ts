import { type Db, sql } from '../../db/database.ts'
import { CONFIRM_AFTER_SECONDS } from '../../recheck/recheck-rules.ts'

/** What is believed of a tracked fare, and when it is checked next. */
export interface FareDetail {
  readonly fareId: number
  readonly flightId: string
  readonly returnFlightId: string | null
  readonly outbound: string
  readonly return: string | null
  readonly pair: string
  readonly price: string | null
  readonly currency: string | null
  readonly lastGoodCheckAt: Date | null
  readonly lastCheckAt: Date | null
  readonly lastReason: string | null
  readonly expiredAt: Date | null
  readonly endedAt: Date | null
  readonly watchers: number
  readonly next: NextLook | null
}

/** The expected next check, and what decides it. Null: it is not checked any more. */
export interface NextLook {
  readonly at: Date
  readonly why: string
}

interface DetailRow extends Omit<FareDetail, 'next'> {
  readonly lane: string | null
  readonly laneDueAt: Date | null
  readonly notBefore: Date | null
  /** When those that stand before it have had their turns, at this budget. */
  readonly turnAt: Date | null
  readonly claimed: boolean
  readonly now: Date
}

const WHY: Readonly<Record<string, string>> = {
  confirmation: `a loss or another flight is looked at again after about ${CONFIRM_AFTER_SECONDS} s`,
  new_watch: 'it is new',
  retry: 'the last check told nothing: one early retry',
}

/** One fare by its id; undefined where there is none. */
export async function findFare(
  db: Db,
  fareId: number,
  requestsPerSecond: number,
): Promise<FareDetail | undefined> {
  const { rows } = await sql<DetailRow>`
    select f.id as "fareId", f.flight_id as "flightId", f.return_flight_id as "returnFlightId",
           coalesce(s.outbound, 'unknown') as outbound, s.return, coalesce(s.pair, 'unknown') as pair,
           s.price::text, s.currency, s.last_good_check_at as "lastGoodCheckAt", s.last_check_at as "lastCheckAt",
           s.last_reason as "lastReason", s.expired_at as "expiredAt", f.ended_at as "endedAt", f.watchers,
           q.lane, q.lane_due_at as "laneDueAt", q.not_before as "notBefore", q.claim_id is not null as claimed,
           clock_timestamp() + make_interval(secs => greatest(0, least(q.vdue - c.v, 1 / q.ticket))
                                                     * c.tickets / ${requestsPerSecond}::float8) as "turnAt",
           clock_timestamp() as now
      from tracked_fare f
     cross join recheck_clock c
      left join fare_state s on s.tracked_fare_id = f.id
      left join fare_schedule q on q.tracked_fare_id = f.id
     where f.id = ${fareId}
  `.execute(db)
  const [row] = rows
  return row && detailOf(row)
}

function detailOf(row: DetailRow): FareDetail {
  const { lane, laneDueAt, notBefore, turnAt, claimed, now, ...detail } = row
  return { ...detail, next: nextLook({ lane, laneDueAt, notBefore, turnAt, claimed, now }) }
}

function nextLook(
  row: Pick<DetailRow, 'lane' | 'laneDueAt' | 'notBefore' | 'turnAt' | 'claimed' | 'now'>,
): NextLook | null {
  if (row.notBefore === null) return null
  if (row.claimed) return { at: row.now, why: 'it is being checked' }
  if (row.lane !== null && row.laneDueAt !== null) {
    return { at: row.laneDueAt, why: WHY[row.lane] ?? row.lane }
  }
  const rests = row.notBefore > row.now
  if (rests && (row.turnAt === null || row.turnAt <= row.notBefore)) {
    return { at: row.notBefore, why: 'its minimum interval' }
  }
  return { at: row.turnAt ?? row.now, why: 'its turn within the budget' }
}

/** An interval of belief. */
export interface BeliefInterval {
  readonly from: Date
  readonly to: Date | null
  readonly pair: string
  readonly outbound: string
  readonly return: string | null
  readonly price: string | null
  readonly currency: string | null
}

/** The newest intervals of belief first. */
export async function readTimeline(
  db: Db,
  fareId: number,
  limit: number,
): Promise<BeliefInterval[]> {
  const { rows } = await sql<BeliefInterval>`
    select valid_from as from, valid_to as to, pair, outbound, return, price::text, currency
      from fare_belief_version
     where tracked_fare_id = ${fareId}
     order by valid_from desc
     limit ${limit}
  `.execute(db)
  return rows
}
