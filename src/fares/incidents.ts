import {
  HELD_BY,
  HELD_KINDS,
  type HeldKind,
  kindOf,
  MASS_KINDS,
  type MassKind,
} from '../platform/base/change-kinds.ts'
import { AppError } from '../platform/base/errors.ts'
import type { Logger } from '../platform/base/logger.ts'
import { type Db, PREPARED, sql, type Tx } from '../platform/db/database.ts'
import { affected, inTransaction, selectOne } from '../platform/db/transaction.ts'
import { expedite } from '../schedule/queues.ts'
import type { AskedLeg, Mass, MassContext } from './mass.ts'

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
function newSeconds(intervalSeconds: number): number {
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
async function saveAsked(tx: Tx, asked: readonly AskedFlight[]): Promise<void> {
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
interface MassCount extends Mass {
  /** Those that can show it, of the last that were asked. */
  readonly asked: number
  /** Those of them whose change is new. */
  readonly changed: number
}

/**
 * Whether so many flights change at once that the answers are more likely wrong than true: a credential with the wrong
 * scope, an airline that is down, dates or prices of another system. It is over at half of what begins it, so that
 * a mass at the limit is not released with every second batch.
 */
function isMass(count: MassCount, isOpen: boolean): boolean {
  const { asked, changed, airline, difference } = count
  if (difference !== null) return changed >= FEW
  if (airline !== null) return changed >= FEW && changed > SHARE_OF_AIRLINE * asked
  const part = isOpen ? 0.5 : 1
  return changed >= part * MINIMUM && changed > part * SHARE * asked
}

/** Whether the legs that can show a kind are available; null: any can. */
function legsThatShow(kind: HeldKind): boolean | null {
  const of = kindOf(kind).mass?.of
  return of === undefined ? null : of === 'available'
}

interface CountArgs {
  /** The time of the last answer. */
  readonly at: Date
  readonly releasedAt: MassContext['releasedAt']
  /** The airlines and the differences that are counted. */
  readonly airlines: readonly string[]
  readonly differences: readonly string[]
}

/**
 * Counts the flights whose change is new: of each kind among the last hundred that can show it, the losses of an
 * airline among its last hundred that were asked since the first of them, and different flights with one difference.
 * What an operator has released does not count.
 */
async function countMasses(tx: Tx, args: CountArgs): Promise<MassCount[]> {
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
      from unnest(${[...HELD_KINDS]}::text[], ${HELD_KINDS.map(legsThatShow)}::boolean[]) k (kind, is_available)
     cross join lateral (
           select * from last
            where shows = k.kind or k.is_available is null or is_available = k.is_available
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
async function pruneAsked(db: Db): Promise<number> {
  return affected(
    sql`delete from asked_flight where asked_at < clock_timestamp() - interval '2 hours'`,
    db,
  )
}

/** An incident that opened or closed, in a transaction that may still be rolled back. */
export interface IncidentTransition {
  readonly to: 'open' | 'closed'
  readonly id: number
  readonly kind: MassKind
  readonly closedBy?: 'itself' | 'operator'
  readonly lastedMs?: number
  /** Fares with a held change, which are checked once more for an operator. */
  readonly askedAgain?: number
  readonly masses?: readonly MassCount[]
}

/** Logs each incident that opened or closed. Call it after the commit. */
export function reportIncidents(
  { log }: { readonly log: Logger },
  transitions: readonly IncidentTransition[],
): void {
  for (const { to, ...transition } of transitions) {
    if (to === 'open') log.warn(transition, 'incident opened')
    else log.info(transition, 'incident closed')
  }
}

/** What an open incident is of. */
interface OpenIncident {
  readonly kind: MassKind
  /** Whether it is of its kind as a whole, not of some airlines or differences alone. */
  readonly isWhole: boolean
  readonly airlines: readonly string[]
  readonly differences: readonly string[]
}

interface IncidentStates {
  readonly open: readonly OpenIncident[]
  readonly releasedAt: MassContext['releasedAt']
}

/** The open incidents, and what operators have released in the last day. */
export async function readIncidentStates(db: Db): Promise<IncidentStates> {
  const { rows } = await sql<
    OpenIncident & { isOpen: boolean; releasedAt: Date | null }
  >`${PREPARED}
    select kind, bool_or(closed_at is null) as "isOpen",
           bool_or(closed_at is null and coalesce(m.value ->> 'airline', m.value ->> 'difference') is null) as "isWhole",
           coalesce(array_agg(m.value ->> 'airline') filter (where closed_at is null and m.value ->> 'airline' <> ''), '{}')
             as airlines,
           coalesce(array_agg(m.value ->> 'difference') filter (where closed_at is null and m.value ->> 'difference' <> ''), '{}')
             as differences,
           max(closed_at) filter (where detail @> '{"closedBy": "operator"}') as "releasedAt"
      from incident
      left join lateral jsonb_array_elements(detail -> 'masses') m on true
     where closed_at is null or closed_at > clock_timestamp() - interval '1 day'
     group by kind
  `.execute(db)
  return {
    open: rows.filter(({ isOpen }) => isOpen),
    releasedAt: new Map(
      rows.flatMap(({ kind, releasedAt }) => (releasedAt ? [[HELD_BY[kind], releasedAt]] : [])),
    ),
  }
}

/**
 * Counts what a batch of answers shows with what those before it have shown. A mass opens an incident, and the counts
 * that open it also close it.
 */
export async function findMasses(
  tx: Tx,
  asked: readonly AskedFlight[],
): Promise<{ readonly context: MassContext; readonly transitions: readonly IncidentTransition[] }> {
  await saveAsked(tx, asked)
  const states = await readIncidentStates(tx)
  const changed = asked.filter(({ shows }) => shows !== null)
  const isCalm = asked.length === 0 || (changed.length === 0 && states.open.length === 0)
  const at = new Date(Math.max(...asked.map(({ askedAt }) => askedAt.getTime())))
  const { masses, transitions } = isCalm ? CALM : await assess(tx, { at, changed, ...states })
  return { context: { masses, releasedAt: states.releasedAt }, transitions }
}

const CALM = { masses: [], transitions: [] }

interface AssessArgs extends IncidentStates {
  readonly at: Date
  readonly changed: readonly AskedFlight[]
}

async function assess(tx: Tx, { at, changed, open, releasedAt }: AssessArgs) {
  const lost = changed.filter(({ shows }) => shows === 'became_unavailable')
  const counts = await countMasses(tx, {
    at,
    releasedAt,
    airlines: union(
      lost.map(({ airline }) => airline),
      open,
      'airlines',
    ),
    differences: union(
      changed.flatMap(({ differences }) => differences),
      open,
      'differences',
    ),
  })
  const openOf = (kind: HeldKind) => open.find((one) => HELD_BY[one.kind] === kind)
  const masses = counts.filter((count) => isMass(count, openOf(count.kind)?.isWhole === true))
  const transitions: IncidentTransition[] = []
  for (const kind of MASS_KINDS) {
    const ofKind = masses.filter((mass) => mass.kind === HELD_BY[kind])
    if (ofKind.length > 0)
      transitions.push(...(await openIncident(tx, { kind, masses: ofKind, at })))
    else if (openOf(HELD_BY[kind])) transitions.push(...(await endIncident(tx, kind)))
  }
  return { masses, transitions }
}

function union(
  found: readonly (string | null)[],
  open: readonly OpenIncident[],
  of: 'airlines' | 'differences',
): string[] {
  const all = [...found, ...open.flatMap((incident) => incident[of])]
  return [...new Set(all.filter((one) => one !== null))]
}

interface OpenArgs {
  readonly kind: MassKind
  readonly masses: readonly MassCount[]
  readonly at: Date
}

/** Opens an incident, or adds to an open one what else it is of. */
async function openIncident(
  tx: Tx,
  { kind, masses, at }: OpenArgs,
): Promise<readonly IncidentTransition[]> {
  const parts = masses.map(({ airline, difference }) => ({ airline, difference }))
  const { rows } = await sql<{ id: number; isNew: boolean }>`
    insert into incident as i (kind, detail)
    values (${kind}, jsonb_build_object('masses', ${JSON.stringify(parts)}::jsonb,
                                        'recorded', ${recordedBefore(HELD_BY[kind], masses, at)}))
        on conflict (kind) where closed_at is null do update
       set detail = i.detail || jsonb_build_object('masses', (
             select jsonb_agg(distinct m) from jsonb_array_elements((i.detail -> 'masses') || (excluded.detail -> 'masses')) m),
                                            'recorded', (
             select coalesce(jsonb_agg(distinct r), '[]')
               from jsonb_array_elements(coalesce(i.detail -> 'recorded', '[]') || (excluded.detail -> 'recorded')) r))
     where not (i.detail -> 'masses') @> (excluded.detail -> 'masses')
    returning id, xmax = 0 as "isNew"
  `.execute(tx)
  return rows.flatMap(({ id, isNew }) => (isNew ? [{ to: 'open', id, kind, masses }] : []))
}

/** The numbers of the records that were written of a mass before it was seen, as a JSON array. */
function recordedBefore(kind: HeldKind, masses: readonly Mass[], at: Date) {
  const airlines = masses.map(({ airline }) => airline)
  const differences = masses.map(({ difference }) => difference)
  const isWhole = masses.some((mass) => mass.airline === null && mass.difference === null)
  return sql`
    (select coalesce(jsonb_agg(c.seq order by c.seq), '[]')
       from asked_flight a
       join availability_change c on c.tracked_fare_id = a.fare_id and c.recorded_at > clock_timestamp() - interval '1 hour'
      where a.is_recorded and a.shows = ${kind} and a.counts_until > ${at}::timestamptz
        and (c.kind = a.shows or c.kind = 'legs_changed')
        and (${isWhole}::boolean or a.airline = any(${airlines}::text[]) or a.differences && ${differences}::text[]))
  `
}

/** An incident that is over by the counts: some of what waits may have disappeared. */
async function endIncident(tx: Tx, kind: MassKind): Promise<readonly IncidentTransition[]> {
  const closed = await setClosed(tx, kind)
  if (closed === undefined) return []
  const { id, lastedMs } = closed
  await followDisappeared(tx, [HELD_BY[kind]])
  return [{ to: 'closed', id, kind, closedBy: 'itself', lastedMs }]
}

/** Each change that waited and has disappeared has so many others of its kind asked, but none that was asked just now. */
const [NEXT, LATELY_SECONDS] = [4, 20]

/**
 * Changes of these kinds, one a fare, were held and have disappeared: a lie may have ended. The next fares that it held
 * are checked, those that wait longest first, and bring the next ones if theirs have disappeared too.
 */
export async function followDisappeared(tx: Tx, kinds: readonly HeldKind[]): Promise<void> {
  for (const kind of new Set(kinds)) {
    const most = NEXT * kinds.filter((one) => one === kind).length
    await recheckHeld(tx, { kind, most, lastAskedSeconds: LATELY_SECONDS })
  }
}

/** There is no open incident to close. */
export class NoIncidentError extends AppError {
  override readonly name = 'NoIncidentError'
  override readonly code = 'incident.none_open'

  constructor(kind: MassKind) {
    super(`no ${kind} is open`)
  }
}

interface ClosedIncident {
  readonly id: number
  readonly openedAt: Date
  /** Fares with a held change. They are checked once more, and what is still so is recorded; held ends come at once. */
  readonly askedAgain: number
}

/**
 * Closes the open incident of a kind for an operator, and releases what waits, also after the mass. Throws
 * NoIncidentError if none is open and nothing waits.
 *
 * What began to wait before now is recorded as if there were no mass. Nothing of later is: if the next answers make a
 * mass, an incident opens again.
 */
export async function closeIncident(
  { db, log }: { readonly db: Db; readonly log: Logger },
  kind: MassKind,
): Promise<ClosedIncident> {
  const { lastedMs, ...closed } = await inTransaction(db, async (tx) => {
    await openForWaiting(tx, kind)
    const incident = await setClosed(tx, kind)
    if (incident === undefined) throw new NoIncidentError(kind)
    await sql`
      update incident set detail = detail || '{"closedBy": "operator"}' where id = ${incident.id}
    `.execute(tx)
    const askedAgain =
      kind === 'mass_expiry' ? await endHeld(tx) : await recheckHeld(tx, { kind: HELD_BY[kind] })
    return { ...incident, askedAgain }
  })
  const { id, askedAgain } = closed
  const transition = { to: 'closed', id, kind, lastedMs, askedAgain, closedBy: 'operator' } as const
  reportIncidents({ log }, [transition])
  return closed
}

/**
 * Has four fares of each kind asked whose change waits: a lie may have ended. Closes incidents that are over although no
 * check says so: the changed fares, or all fares, are no longer watched. While there are checks, each recorded batch closes
 * them. Also deletes what no count reads. Returns how many it closed. Safe to run twice: it closes open incidents only.
 */
export async function closeUncheckedIncidents({
  db,
  log,
}: {
  readonly db: Db
  readonly log: Logger
}): Promise<number> {
  const transitions = await inTransaction(db, async (tx) => {
    await followDisappeared(tx, HELD_KINDS)
    const states = await readIncidentStates(tx)
    if (states.open.length === 0) return []
    const { now } = await selectOne(sql<{ now: Date }>`select clock_timestamp() as now`, tx)
    return (await assess(tx, { at: now, changed: [], ...states })).transitions
  })
  await pruneAsked(db)
  reportIncidents({ log }, transitions)
  return transitions.length
}

/** What waits is released by the end of an incident, also after the mass. */
async function openForWaiting(tx: Tx, kind: MassKind): Promise<void> {
  await sql`
    insert into incident (kind)
    select ${kind}
     where exists (select from fare_state
                    where held = ${HELD_BY[kind]}
                      and held_since > all (select closed_at from incident
                                             where kind = ${kind} and detail @> '{"closedBy": "operator"}'))
        on conflict (kind) where closed_at is null do nothing
  `.execute(tx)
}

/** At most one incident of a kind is open. */
async function setClosed(tx: Tx, kind: MassKind) {
  return tx
    .updateTable('incident')
    .set({ closed_at: sql`clock_timestamp()` })
    .where('kind', '=', kind)
    .where('closed_at', 'is', null)
    .returning([
      'id',
      'opened_at as openedAt',
      sql<number>`round(extract(epoch from closed_at - opened_at) * 1000)::float8`.as('lastedMs'),
    ])
    .executeTakeFirst()
}

interface RecheckArgs {
  readonly kind: HeldKind
  /** The number of fares, and how long ago they were asked at least. All are checked where these are missing. */
  readonly most?: number
  readonly lastAskedSeconds?: number
}

/**
 * Makes fares due now whose change a mass holds, in the lane of confirmations. Returns how many.
 *
 * Skips fares that another transaction has locked: the caller may itself hold the locks of a batch, so no lock order is
 * safe here. Those fares are checked when their hold ends.
 */
async function recheckHeld(
  tx: Tx,
  { kind, most, lastAskedSeconds = 0 }: RecheckArgs,
): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    select tracked_fare_id as id
      from fare_state
     where held_since is not null and held = ${kind} and asked_at < clock_timestamp() - make_interval(secs => ${lastAskedSeconds})
     order by held_since
  `.execute(tx)
  return expedite(
    tx,
    rows.map(({ id }) => id),
    most,
  )
}

/** Fares whose end the mass holds have departed now: the next tick ends them. Skips fares that are locked, as above. */
async function endHeld(tx: Tx): Promise<number> {
  return affected(
    sql`
      update fare_state
         set departs_at = clock_timestamp(), held_until = clock_timestamp()
       where tracked_fare_id in (select tracked_fare_id from fare_state where held = 'expired' for update skip locked)
    `,
    tx,
  )
}
