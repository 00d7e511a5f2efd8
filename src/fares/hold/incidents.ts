import { AppError } from '../../platform/base/errors.ts'
import {
  HELD_BY,
  HELD_KINDS,
  type HeldKind,
  MASS_KINDS,
  type MassKind,
} from '../../platform/base/kinds.ts'
import type { Logger } from '../../platform/base/logger.ts'
import { type Db, PREPARED, sql, type Tx } from '../../platform/db/database.ts'
import { affected, inTransaction, selectOne } from '../../platform/db/transaction.ts'
import { expedite } from '../../schedule/follow.ts'
import type { Mass, MassContext } from '../decide/mass.ts'
import {
  type AskedFlight,
  countMasses,
  isMass,
  type MassCount,
  pruneAsked,
  saveAsked,
} from './count-masses.ts'

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
  override readonly retryable = false

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
