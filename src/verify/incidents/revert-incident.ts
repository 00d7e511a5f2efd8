import { isDeepStrictEqual } from 'node:util'
import { AppError } from '../../base/errors.ts'
import type { IncidentKind } from '../../base/kinds.ts'
import type { Logger } from '../../base/logger.ts'
import { appendAvailabilityChanges } from '../../changes/availability-feed.ts'
import { type Db, sql, type Tx } from '../../db/database.ts'
import { inTransaction, openScratchTransaction } from '../../db/transaction.ts'
import { notifyWatches } from '../../watch/notify-watches.ts'
import { ENDED_WITH_FARE, reopenWatches } from '../../watch/reopen-watches.ts'
import { lockTrackedFares, syncTrackedFares } from '../../watch/sync-tracked-fares.ts'
import { type BeliefRow, type ShownBelief, saveBeliefs } from '../checks/belief-store.ts'
import { beliefColumns } from '../checks/record-checks.ts'
import { departsAt } from '../decide/departure.ts'
import { type FareState, type FareView, viewOf } from '../decide/fare-state.ts'
import { parseFareState } from '../decide/parse-fare-state.ts'
import { LOSS_RULE, massRuleOf } from './incident.ts'
import { IS_UNUSUAL } from './incident-queries.ts'
import { restoreState, reverseKind } from './restore-state.ts'

/** There is no incident with this number. */
export class UnknownIncidentError extends AppError {
  override readonly name = 'UnknownIncidentError'
  override readonly code = 'incident.not_found'
  override readonly retryable = false

  constructor(id: number) {
    super(`there is no incident ${id}; "bin/farewatch incidents list" lists them`)
  }
}

/** What a revert has done, or would do. */
export interface Reversal {
  readonly id: number
  readonly kind: IncidentKind
  /** Fares whose belief is as before the false change. */
  readonly fares: number
  /** Records that say so. A fare that shows the same before and after its end has none. */
  readonly records: number
  /** Watches whose end is taken back. */
  readonly watches: number
  /** Fares that have changed or departed since, or that are no longer watched: they are left as they are. */
  readonly left: number
}

/**
 * Undoes what was recorded falsely before an incident held it: the changes of its kind since five minutes before it
 * opened, until it closed, and the ends of their fares that followed.
 *
 * No record is deleted. Each fare gets a record of the way back under a new number, and its watches receive it; watches
 * that ended with the fare go on. A fare that has changed otherwise since is left to its checks. A true change among
 * them is undone too, and recorded again by the next checks, which follow at once. Safe to run twice: what is undone is
 * not found again. With `dryRun` everything is rolled back. Throws UnknownIncidentError.
 */
export async function revertIncident(
  { db, log }: { readonly db: Db; readonly log: Logger },
  id: number,
  { dryRun }: { readonly dryRun: boolean },
): Promise<Reversal> {
  if (!dryRun) {
    const reversal = await inTransaction(db, (tx) => revert(tx, id))
    log.info({ ...reversal }, 'incident reverted')
    return reversal
  }
  const tx = await openScratchTransaction(db)
  try {
    return await revert(tx, id)
  } finally {
    await tx.end()
  }
}

async function revert(tx: Tx, id: number): Promise<Reversal> {
  const incident = await findIncident(tx, id)
  const fareIds = await findFalselyChanged(tx, incident)
  await lockTrackedFares(tx, fareIds)
  const found = await lockFacts(tx, incident, fareIds)
  const restored = found.flatMap(restore)
  const ids = restored.map(({ fareId }) => fareId)
  await saveBeliefs(tx, restored.map(rowOf))
  const silent = restored.filter(({ kind }) => kind === null).map(({ fareId }) => fareId)
  const watches = await reopenWatches(tx, ids, { begin: silent })
  await takeBackEnds(tx, restored)
  const changeSeqs = await appendReversals(tx, id, restored)
  await notifyWatches(tx, { changeSeqs })
  await syncTrackedFares(tx, ids)
  await checkSoon(tx, ids)
  const left = found.filter(({ isRestored }) => !isRestored).length - ids.length
  return { id, kind: incident.kind, fares: ids.length, records: changeSeqs.length, watches, left }
}

interface RevertedIncident {
  readonly id: number
  readonly kind: IncidentKind
}

async function findIncident(tx: Tx, id: number): Promise<RevertedIncident> {
  const incident = await tx
    .selectFrom('incident')
    .select(['id', 'kind'])
    .where('id', '=', id)
    .executeTakeFirst()
  if (incident === undefined) throw new UnknownIncidentError(id)
  return incident
}

/** The records that incident `i` would have held, had it opened in time. It holds no ordinary changes of price. */
function isFalse({ kind }: RevertedIncident) {
  const { holds } = massRuleOf(kind) ?? LOSS_RULE
  return sql<boolean>`
    (c.kind = ${holds} and ${IS_UNUSUAL} and c.provenance ->> 'source' is distinct from 'revert'
     and c.recorded_at between i.opened_at - interval '5 minutes' and coalesce(i.closed_at, 'infinity'))
  `
}

async function findFalselyChanged(tx: Tx, incident: RevertedIncident): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select distinct c.tracked_fare_id as id
      from incident i
      join availability_change c on ${isFalse(incident)}
     where i.id = ${incident.id}
  `.execute(tx)
  return rows.map((row) => row.id)
}

interface FalseFacts extends ShownBelief {
  readonly fareId: number
  readonly state: object
  /** What was shown before the first false record, and what is shown now. */
  readonly trueView: FareView
  readonly shownView: FareView
  /** The last good check before the first false record. */
  readonly checkedAt: Date | null
  readonly hasEnded: boolean
  /** Whether it was neither changed otherwise since nor left by its watches. */
  readonly isOpen: boolean
  /** Later than the last counted answer. */
  readonly now: Date
}

type Facts = FalseFacts & { readonly isRestored: boolean }

async function lockFacts(
  tx: Tx,
  incident: RevertedIncident,
  fareIds: readonly number[],
): Promise<Facts[]> {
  const { rows } = await sql<FalseFacts>`
    select s.tracked_fare_id as "fareId", s.state, first.before as "trueView", last.after as "shownView",
           first.last_good_check_at as "checkedAt",
           s.outbound, s.return, s.pair, s.price as amount, s.currency,
           s.expired_at is not null as "hasEnded",
           not exists (select from availability_change c
                        where c.tracked_fare_id = s.tracked_fare_id and c.seq > first.seq
                          and c.kind <> 'expired' and not ${isFalse(incident)})
             and (s.expired_at is null
                  or exists (select from watch w where w.tracked_fare_id = s.tracked_fare_id and ${ENDED_WITH_FARE})) as "isOpen",
           greatest(clock_timestamp(), s.asked_at + interval '1 millisecond') as now
      from fare_state s
      join incident i on i.id = ${incident.id}
     cross join lateral (select c.seq, c.before, c.last_good_check_at from availability_change c
                          where c.tracked_fare_id = s.tracked_fare_id and ${isFalse(incident)}
                          order by c.seq limit 1) first
     cross join lateral (select c.after from availability_change c
                          where c.tracked_fare_id = s.tracked_fare_id
                          order by c.seq desc limit 1) last
     where s.tracked_fare_id = any(${fareIds}::bigint[])
     order by s.tracked_fare_id
       for update of s
  `.execute(tx)
  return rows.map((fare) => {
    const isRestored = !fare.hasEnded && isDeepStrictEqual(fare.shownView, fare.trueView)
    return { ...fare, isRestored }
  })
}

interface Restored extends Facts {
  readonly state: FareState
  readonly kind: ReturnType<typeof reverseKind>
}

function restore(fare: Facts): Restored[] {
  if (fare.isRestored || !fare.isOpen) return []
  const state = restoreState(
    parseFareState(fare.state),
    fare.trueView,
    fare.checkedAt?.toISOString() ?? null,
  )
  const departure = departsAt(state)
  if (departure !== null && Date.parse(departure) <= fare.now.getTime()) return []
  return [{ ...fare, state, kind: reverseKind(fare.shownView, viewOf(state)) }]
}

/** The history of an ended fare has no open interval. */
const NO_INTERVAL = { outbound: '', return: null, pair: '', amount: null, currency: null }

/** Answers to questions that were asked before now are dropped. */
function rowOf({ state, hasEnded, now, ...fare }: Restored): BeliefRow {
  return {
    fareId: fare.fareId,
    before: hasEnded ? NO_INTERVAL : fare,
    ...beliefColumns(state),
    askedAt: now,
    good: false,
    reason: null,
    held: [],
    past: false,
  }
}

/** Takes back the ends of the fares. A restored belief is as old as its last check, and not as the false answers. */
async function takeBackEnds(tx: Tx, restored: readonly Restored[]): Promise<void> {
  const fareIds = restored.map(({ fareId }) => fareId)
  const instants = restored.map(({ checkedAt }) => checkedAt)
  await sql`
    update fare_state s
       set last_good_check_at = b.at, expired_at = null, ask_again_at = null, held_until = null
      from unnest(${fareIds}::bigint[], ${instants}::timestamptz[]) as b (id, at)
     where s.tracked_fare_id = b.id
  `.execute(tx)
}

async function appendReversals(
  tx: Tx,
  incidentId: number,
  restored: readonly Restored[],
): Promise<number[]> {
  const drafts = restored.flatMap(({ kind, fareId, state, shownView, now }) => {
    if (kind === null) return []
    const change = {
      fareId,
      kind,
      reason: kind === 'became_unavailable' ? ('unknown' as const) : null,
      before: shownView,
      after: viewOf(state),
      lastGoodCheckAt: state.lastGoodCheckAt,
      detectedAt: now.toISOString(),
    }
    return [{ ...change, evidenceHash: null, provenance: { source: 'revert', incidentId } }]
  })
  return (await appendAvailabilityChanges(tx, drafts)).map(({ seq }) => seq)
}

/** The restored beliefs are old, so these fares are checked at once. */
async function checkSoon(tx: Tx, fareIds: readonly number[]): Promise<void> {
  await sql`
    update fare_schedule set lane = 'confirmation', lane_due_at = clock_timestamp()
     where tracked_fare_id = any(${fareIds}::bigint[]) and claim_id is null
  `.execute(tx)
}
