import { AppError } from '../../platform/base/errors.ts'
import { HELD_BY, type IncidentKind, type MassKind } from '../../platform/base/kinds.ts'
import type { Logger } from '../../platform/base/logger.ts'
import { type Db, sql, type Tx } from '../../platform/db/database.ts'
import { notify } from '../../platform/db/listener.ts'
import { inTransaction } from '../../platform/db/transaction.ts'
import { expedite } from '../../schedule/follow.ts'
import {
  type CheckCounts,
  hasScheduledFares,
  isMass,
  isMassKind,
  isTroubleOver,
  type MassCounts,
  pruneAsked,
  readIncidentStates,
  readMasses,
  readTroubleCounts,
} from './incidents.ts'

/** An incident that opened or closed, in a transaction that may still be rolled back. */
export type IncidentTransition =
  | {
      readonly to: 'open'
      readonly id: number
      readonly kind: IncidentKind
      readonly counts: MassCounts | CheckCounts
    }
  | {
      readonly to: 'closed'
      readonly id: number
      readonly kind: IncidentKind
      readonly closedBy: 'itself' | 'operator'
      readonly lastedMs: number
      /** Fares with a held change, which are checked once more. */
      readonly askedAgain: number
      /** Missing if an operator closed it. */
      readonly counts?: MassCounts | CheckCounts
    }

/** Logs each incident that opened or closed. Call it after the commit. */
export function reportIncidents(
  { log }: { readonly log: Logger },
  transitions: readonly IncidentTransition[],
): void {
  for (const { to, counts, ...transition } of transitions) {
    if (to === 'open') log.warn({ ...transition, ...counts }, 'incident opened')
    else log.info({ ...transition, ...counts }, 'incident closed')
  }
}

interface IncidentAssessment {
  readonly kind: IncidentKind
  readonly isOpen: boolean
  /** Whether, by the counts, there is an incident now. */
  readonly isOngoing: boolean
  readonly counts: MassCounts | CheckCounts
}

/** Opens an incident that has begun, or closes one that is over. Usually it does neither. */
export async function applyAssessment(
  tx: Tx,
  { kind, isOpen, isOngoing, counts }: IncidentAssessment,
): Promise<IncidentTransition[]> {
  if (isOngoing === isOpen) return []
  if (isOngoing) {
    const opened = await tx
      .insertInto('incident')
      .values({ kind })
      .onConflict((open) => open.column('kind').where('closed_at', 'is', null).doNothing())
      .returning('id')
      .execute()
    return opened.map(({ id }) => ({ to: 'open', id, kind, counts }))
  }
  const closed = await setClosed(tx, kind)
  if (closed === undefined) return []
  const { id, lastedMs } = closed
  const askedAgain = await recheckHeld(tx, kind)
  return [{ to: 'closed', id, kind, closedBy: 'itself', lastedMs, askedAgain, counts }]
}

/** There is no open incident to close. */
export class NoIncidentError extends AppError {
  override readonly name = 'NoIncidentError'
  override readonly code = 'incident.none_open'
  override readonly retryable = false

  constructor(kind: IncidentKind) {
    super(`no ${kind} is open`)
  }
}

interface ClosedIncident {
  readonly id: number
  readonly openedAt: Date
  /** Fares with a held change. They are checked once more, and what is still so is recorded. */
  readonly askedAgain: number
}

/**
 * Closes the open incident of a kind for an operator. Throws NoIncidentError if none is open and nothing waits.
 *
 * What waits now is asked once more, and recorded if it is still so, although the mass may go on. Nothing of later is
 * accepted: if the next answers make a mass, an incident opens again. Upstream trouble opens again if most of the next
 * checks are unknown.
 */
export async function closeIncident(
  { db, log }: { readonly db: Db; readonly log: Logger },
  kind: IncidentKind,
): Promise<ClosedIncident> {
  const { lastedMs, ...closed } = await inTransaction(db, async (tx) => {
    if (isMassKind(kind)) await openForWaiting(tx, kind)
    const incident = await setClosed(tx, kind)
    if (incident === undefined) throw new NoIncidentError(kind)
    await sql`
      update incident set detail = detail || '{"closedBy": "operator"}' where id = ${incident.id}
    `.execute(tx)
    return { ...incident, askedAgain: await recheckHeld(tx, kind) }
  })
  const { id, askedAgain } = closed
  const transition = { to: 'closed', id, kind, lastedMs, askedAgain, closedBy: 'operator' } as const
  reportIncidents({ log }, [transition])
  return closed
}

/**
 * Closes incidents that are over although no check says so: the changed fares, or all fares, are no longer watched.
 * While there are checks, each recorded batch closes them (guard-changes.ts). Also deletes what the guard no longer
 * reads. Returns how many it closed. Safe to run twice: it closes open incidents only.
 *
 * @param withinMs how long an answer counts for a mass.
 */
export async function closeUncheckedIncidents(
  { db, log }: { readonly db: Db; readonly log: Logger },
  withinMs: number,
): Promise<number> {
  const transitions = await inTransaction(db, async (tx) => {
    const closed: IncidentTransition[] = []
    for (const kind of (await readIncidentStates(tx)).open) {
      const { isOver, counts } = await assessOpen(tx, kind, withinMs)
      const isOngoing = !isOver && (await hasScheduledFares(tx))
      closed.push(...(await applyAssessment(tx, { kind, isOpen: true, isOngoing, counts })))
    }
    return closed
  })
  await pruneAsked(db)
  reportIncidents({ log }, transitions)
  return transitions.length
}

async function assessOpen(tx: Tx, kind: IncidentKind, withinMs: number) {
  if (!isMassKind(kind)) {
    const counts = await readTroubleCounts(tx)
    return { isOver: isTroubleOver(counts), counts }
  }
  const masses = await readMasses(tx, withinMs)
  const counts = masses.counts.get(HELD_BY[kind]) ?? { asked: 0, changed: 0 }
  return { isOver: !isMass(counts, { isOpen: true }), counts }
}

/** What waits is released by the end of an incident, also after the mass. */
async function openForWaiting(tx: Tx, kind: MassKind): Promise<void> {
  await sql`
    insert into incident (kind)
    select ${kind}
     where exists (select from fare_state
                    where held[1] = ${HELD_BY[kind]}
                      and held_since > all (select closed_at from incident
                                             where kind = ${kind} and detail @> '{"closedBy": "operator"}'))
        on conflict (kind) where closed_at is null do nothing
  `.execute(tx)
}

/** At most one incident of a kind is open. */
async function setClosed(tx: Tx, kind: IncidentKind) {
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

/**
 * Makes every fare due now whose change the mass holds, in the lane of confirmations. Returns how many.
 *
 * Skips fares that another transaction has locked: the caller may itself hold the locks of a batch, so no lock order is
 * safe here. Those fares are checked when their hold ends.
 */
async function recheckHeld(tx: Tx, kind: IncidentKind): Promise<number> {
  await sql`select ${notify('due')}`.execute(tx)
  if (!isMassKind(kind)) return 0
  const { rows } = await sql<{ id: number }>`
    select tracked_fare_id as id from fare_state where held_since is not null and held[1] = ${HELD_BY[kind]}
  `.execute(tx)
  return expedite(
    tx,
    rows.map(({ id }) => id),
  )
}
