import { AppError } from '../../base/errors.ts'
import type { IncidentKind } from '../../base/kinds.ts'
import type { Logger } from '../../base/logger.ts'
import { type Db, sql, type Tx } from '../../db/database.ts'
import { notify } from '../../db/listener.ts'
import { affected, inTransaction } from '../../db/transaction.ts'
import {
  type CheckCounts,
  isMassOver,
  isTroubleOver,
  LOSS_RULE,
  type MassCounts,
  type MassRule,
  massRuleOf,
} from './incident.ts'
import {
  hasScheduledFares,
  isWaiting,
  readCheckCounts,
  readMassCounts,
  readOpenKinds,
} from './incident-queries.ts'

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

export interface IncidentAssessment {
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

export interface ClosedIncident {
  readonly id: number
  readonly openedAt: Date
  /** Fares with a held change. They are checked once more, and the change is believed if the answer is the same. */
  readonly askedAgain: number
}

/**
 * Closes the open incident of a kind for an operator. Throws NoIncidentError.
 *
 * A held change is recorded only after one more answer shows it. Without more, the changes of a mass would open the
 * incident again, so they are accepted, together with those that no check has found yet, until all are recorded or a
 * day has passed. After that the next mass of such changes opens an incident. Upstream trouble opens again if most of
 * the next checks are unknown.
 */
export async function closeIncident(
  { db, log }: { readonly db: Db; readonly log: Logger },
  kind: IncidentKind,
): Promise<ClosedIncident> {
  const { lastedMs, ...closed } = await inTransaction(db, async (tx) => {
    const incident = await setClosed(tx, kind)
    if (incident === undefined) throw new NoIncidentError(kind)
    if (massRuleOf(kind) !== undefined) await acceptMass(tx, incident.id)
    return { ...incident, askedAgain: await recheckHeld(tx, kind) }
  })
  const { id, askedAgain } = closed
  const transition = { to: 'closed', id, kind, lastedMs, askedAgain, closedBy: 'operator' } as const
  reportIncidents({ log }, [transition])
  return closed
}

/**
 * Closes incidents that are over although no check says so: the changed fares, or all fares, are no longer watched. While
 * there are checks, each recorded batch closes them (guard-changes.ts). Returns how many it closed. Safe to run twice:
 * it closes open incidents only.
 */
export async function closeUncheckedIncidents({
  db,
  log,
}: {
  readonly db: Db
  readonly log: Logger
}): Promise<number> {
  const transitions = await inTransaction(db, async (tx) => {
    const closed: IncidentTransition[] = []
    for (const kind of await readOpenKinds(tx)) {
      const { isOver, counts } = await assessOpen(tx, kind)
      const isOngoing = !isOver && (await hasScheduledFares(tx))
      closed.push(...(await applyAssessment(tx, { kind, isOpen: true, isOngoing, counts })))
    }
    return closed
  })
  reportIncidents({ log }, transitions)
  return transitions.length
}

async function assessOpen(tx: Tx, kind: IncidentKind) {
  const rule = massRuleOf(kind)
  if (rule !== undefined) {
    const counts = await readMassCounts(tx, rule, [])
    return { isOver: isMassOver(counts), counts }
  }
  const counts = await readCheckCounts(tx, { open: true })
  return { isOver: isTroubleOver(counts), counts }
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
 * Makes every fare due now that has a change which the incident held, as an unconfirmed loss is. Returns how many.
 *
 * Skips fares that another transaction has locked: the caller may itself hold the locks of a batch, so no lock order is
 * safe here. Those fares are checked at their due time.
 */
async function recheckHeld(tx: Tx, kind: IncidentKind): Promise<number> {
  await sql`select ${notify('due')}`.execute(tx)
  return affected(
    sql`
      update fare_schedule
         set lane = 'confirmation', lane_due_at = clock_timestamp()
       where tracked_fare_id in (select q.tracked_fare_id
                                   from fare_schedule q
                                   join fare_state s using (tracked_fare_id)
                                  where q.claim_id is null and ${isWaiting(massRuleOf(kind) ?? LOSS_RULE)}
                                    for update of q skip locked)
    `,
    tx,
  )
}

/** Marks a mass of changes as true: until it is recorded, it opens no incident. */
async function acceptMass(tx: Tx, incidentId: number): Promise<void> {
  await sql`
    update incident set detail = detail || '{"closedBy": "operator", "accepted": true}' where id = ${incidentId}
  `.execute(tx)
}

/** Whether an operator has accepted a mass of changes that is not recorded yet. An acceptance ends after one day. */
export async function isMassAccepted(tx: Tx, { kind }: MassRule): Promise<boolean> {
  const accepted = await tx
    .selectFrom('incident')
    .select('id')
    .where('kind', '=', kind)
    .where(sql<boolean>`detail @> '{"accepted": true}'`)
    .where('closed_at', '>', sql<Date>`clock_timestamp() - interval '1 day'`)
    .limit(1)
    .execute()
  return accepted.length > 0
}

/** The accepted mass is recorded: the next one opens an incident again. */
export async function endAcceptance(tx: Tx, { kind }: MassRule): Promise<void> {
  await sql`
    update incident set detail = detail || '{"accepted": false}'
     where kind = ${kind} and detail @> '{"accepted": true}'
  `.execute(tx)
}
