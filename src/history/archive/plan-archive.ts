import { type Db, sql, type Tx } from '../../platform/db/database.ts'
import { inTransaction, selectOne } from '../../platform/db/transaction.ts'
import { ArchiveError } from './archive-directory.ts'

/** What decides the floor of one feed. */
interface FeedFacts {
  /** The present floor. */
  readonly first: number
  /** 0 before the first record. */
  readonly last: number
  /** The first number that was recorded since the date; null if none was. */
  readonly firstSince: number | null
}

/** The feed of a reseller's watches, with the endpoints that it is sent to. */
interface ResellerFacts extends FeedFacts {
  readonly id: number
  readonly name: string
  readonly endpoints: readonly {
    readonly id: string
    /** The last number that the fan-out has read for it. */
    readonly cursor: number
    /** The first number with a delivery that is pending or may be replayed; null if there is none. */
    readonly firstDelivery: number | null
  }[]
}

/** Records before the date that stay, because an endpoint needs them. */
export interface Need {
  readonly reseller: string
  readonly endpointId: string
  /** The first number that it needs. */
  readonly seq: number
  readonly why: 'cursor' | 'delivery'
}

/**
 * The first number that a feed keeps: the first one since the date or that is needed. The last record always stays,
 * because the state of the feed is read from it.
 */
export function floorOf({ first, last, firstSince }: FeedFacts, needed: readonly number[]): number {
  return Math.max(first, Math.min(last, firstSince ?? last, ...needed))
}

/** What the endpoints of a reseller need of the records that the date alone would archive. */
export function needsOf(reseller: ResellerFacts): Need[] {
  const floor = floorOf(reseller, [])
  return reseller.endpoints.flatMap(({ id, cursor, firstDelivery }) => {
    const seq = Math.min(cursor + 1, firstDelivery ?? cursor + 1)
    const why = firstDelivery === seq ? 'delivery' : 'cursor'
    return seq < floor ? [{ reseller: reseller.name, endpointId: id, seq, why }] : []
  })
}

/** The page shows the beliefs of the last 60 days, and guards, incidents and replays of deliveries read less. */
const KEPT_DAYS = 60
const DAY_MS = 86_400_000

interface DateFacts {
  readonly now: Date
  /** The valid time of the last accepted list; null if there is none. */
  readonly lastListAt: Date | null
}

/** Throws ArchiveError if rows before the date are needed or may still be written. */
function assertDate(before: Date, { now, lastListAt }: DateFacts): void {
  const latest = new Date(now.getTime() - KEPT_DAYS * DAY_MS)
  if (before > latest) {
    throw new ArchiveError(
      `--to must be ${dayOf(latest)} or earlier: the last ${KEPT_DAYS} days stay in the database`,
    )
  }
  if (lastListAt === null || lastListAt < before) {
    throw new ArchiveError(
      `no route list has been accepted since ${dayOf(before)}, so changes before that day may still be recorded: choose an earlier day`,
    )
  }
}

export function dayOf(instant: Date): string {
  return instant.toISOString().slice(0, 10)
}

/** The first instant and the first numbers that stay. */
export interface Floors {
  readonly before: Date
  readonly routeChanges: number
  readonly availabilityChanges: number
  readonly watchChanges: readonly { readonly resellerId: number; readonly first: number }[]
}

interface ArchivePlan {
  readonly floors: Floors
  readonly needs: readonly Need[]
}

/** Whole feeds are read. The pool's limit is meant for queries. */
const PLAN_TIMEOUT = '15min'

/** Throws ArchiveError if nothing may be archived before the date. */
export async function assertArchivable(db: Db, before: Date): Promise<void> {
  assertDate(before, await readDateFacts(db))
}

export async function planArchive(db: Db, before: Date): Promise<ArchivePlan> {
  return inTransaction(db, async (tx) => {
    await sql`set local statement_timeout = ${sql.lit(PLAN_TIMEOUT)}`.execute(tx)
    const resellers = await readResellerFacts(tx, before)
    const needs = resellers.flatMap(needsOf)
    const watchChanges = resellers.map((facts) => ({
      resellerId: facts.id,
      first: floorOf(
        facts,
        needsOf(facts).map(({ seq }) => seq),
      ),
    }))
    const cited = await readFirstCited(tx, watchChanges)
    const availability = await readAvailabilityFacts(tx, before)
    const floors = {
      before,
      routeChanges: floorOf(await readRouteFacts(tx, before), []),
      availabilityChanges: floorOf(availability, cited === null ? [] : [cited]),
      watchChanges,
    }
    return { floors, needs }
  })
}

/** Moves the floors, in one transaction: from its commit on, readers are refused what will be deleted. */
export async function moveFloors(tx: Tx, id: string, floors: Floors): Promise<void> {
  await sql`
    update feed_head h
       set first_seq = f.first
      from (values ('route', ${floors.routeChanges}::bigint), ('availability', ${floors.availabilityChanges}::bigint)) f (feed, first)
     where h.feed = f.feed and f.first > h.first_seq
  `.execute(tx)
  await sql`
    update reseller r
       set first_seq = f.first
      from jsonb_to_recordset(${JSON.stringify(floors.watchChanges)}::jsonb) as f ("resellerId" bigint, first bigint)
     where r.id = f."resellerId" and f.first > r.first_seq
  `.execute(tx)
  await sql`update archive set applied_at = clock_timestamp() where id = ${id}`.execute(tx)
}

function readDateFacts(db: Db): Promise<DateFacts> {
  return selectOne(
    sql<DateFacts>`
      select clock_timestamp() as now,
             (select max(fetched_at) from sync_run where status in ('applied', 'unchanged', 'approved')) as "lastListAt"
    `,
    db,
  )
}

function readRouteFacts(db: Db, before: Date): Promise<FeedFacts> {
  return selectOne(
    sql<FeedFacts>`
      select first_seq as first, last_seq as last,
             (select min(seq) from route_change where seq >= first_seq and recorded_at >= ${before}) as "firstSince"
        from feed_head
       where feed = 'route'
    `,
    db,
  )
}

function readAvailabilityFacts(db: Db, before: Date): Promise<FeedFacts> {
  return selectOne(
    sql<FeedFacts>`
      select first_seq as first, last_seq as last,
             (select min(seq) from availability_change where seq >= first_seq and recorded_at >= ${before}) as "firstSince"
        from feed_head
       where feed = 'availability'
    `,
    db,
  )
}

async function readResellerFacts(db: Db, before: Date): Promise<ResellerFacts[]> {
  const { rows } = await sql<ResellerFacts>`
    select r.id, r.name, r.first_seq as first, r.last_seq as last,
           (select min(w.seq) from watch_change w
             where w.reseller_id = r.id and w.seq >= r.first_seq and w.recorded_at >= ${before}) as "firstSince",
           coalesce((select jsonb_agg(jsonb_build_object('id', e.id, 'cursor', e.cursor_seq, 'firstDelivery', d.first) order by e.id)
                       from webhook_endpoint e
                      cross join lateral (select min(seq) as first from delivery where endpoint_id = e.id) d
                      where e.reseller_id = r.id), '[]') as endpoints
      from reseller r
     where r.last_seq > 0
     order by r.id
  `.execute(db)
  return rows
}

/** The first change of a fare that a record cites which its feed keeps; null if there is none. */
async function readFirstCited(
  db: Db,
  watchFloors: readonly { readonly resellerId: number; readonly first: number }[],
): Promise<number | null> {
  const { first } = await selectOne(
    sql<{ first: number | null }>`
      select min(c.seq) as first
        from jsonb_to_recordset(${JSON.stringify(watchFloors)}::jsonb) as f ("resellerId" bigint, first bigint)
        join watch_change w on w.reseller_id = f."resellerId" and w.seq >= f.first
        join availability_change c on c.id = w.change_id
    `,
    db,
  )
  return first
}
