import { isDeepStrictEqual } from 'node:util'
import { insertOwnChanges } from '../../changes/watch-feed.ts'
import { sql, type Tx } from '../../db/database.ts'
import type { Observation } from '../../upstream/observation.ts'
import { type Decision, type DecisionRules, decide } from '../decide/decide.ts'
import { type FareState, fromJson, initialState, toJson, viewOf } from '../decide/fare-state.ts'
import type { OwnRecord } from './fan-out-changes.ts'

/** A check that counted, of a fare that is new to some of its watches. */
export interface NewToSome {
  readonly fareId: number
  readonly askedAt: Date
  readonly observation: Observation
  /** The fare's state before it, and what it means for the fare. */
  readonly before: FareState
  readonly decision: Decision
}

/** What a check means for watches of one fare that have not had their first look, and stand alike. */
export interface FirstLook {
  readonly fareId: number
  readonly watchIds: readonly string[]
  readonly askedAt: Date
  readonly before: FareState
  /** By the answers since they began alone. */
  readonly decision: Decision
  /** Whether they know what is known of the fare, so that its changes are theirs. */
  readonly inStep: boolean
  /** Whether they share what is believed of the fare from here on. */
  readonly joins: boolean
}

interface FreshWatches {
  readonly fareId: number
  readonly ownState: object | null
  readonly watchIds: string[]
}

/**
 * Decides what each check means for the watches that began at a fare of which others may know something: by a state of
 * their own, as if nobody had asked before. So they count a loss from their own first answer on, and are told nothing that
 * they have not seen. They share the fare's state once an answer bears out all of it, and shows the same by both.
 */
export async function findFirstLooks(
  tx: Tx,
  checks: readonly NewToSome[],
  rules: DecisionRules,
): Promise<FirstLook[]> {
  if (checks.length === 0) return []
  const { rows } = await sql<FreshWatches>`
    select w.tracked_fare_id as "fareId", w.own_state as "ownState", array_agg(w.id order by w.id) as "watchIds"
      from unnest(${checks.map((one) => one.fareId)}::bigint[], ${checks.map((one) => one.askedAt)}::timestamptz[])
           with ordinality b (fare_id, asked_at, n)
      join watch w on w.tracked_fare_id = b.fare_id and w.looked_at is null and w.began_at <= b.asked_at
      join reseller r on r.id = w.reseller_id
     where w.paused_at is null and w.ended_at is null and r.disabled_at is null
     group by b.n, w.tracked_fare_id, w.own_state
     order by b.n, "watchIds"
  `.execute(tx)
  const byFare = new Map(checks.map((check) => [check.fareId, check]))
  return rows.flatMap((fresh) => {
    const check = byFare.get(fresh.fareId)
    return check === undefined ? [] : [lookOf(fresh, check, rules)]
  })
}

function lookOf(
  { ownState, watchIds }: FreshWatches,
  { fareId, askedAt, observation, ...fare }: NewToSome,
  rules: DecisionRules,
): FirstLook {
  const before = ownState === null ? initialState(fare.before.return !== null) : fromJson(ownState)
  const decision = decide(before, { askedAt, observation }, rules)
  const looksAlike = isDeepStrictEqual(viewOf(decision.state), viewOf(fare.decision.state))
  return {
    fareId,
    watchIds,
    askedAt,
    before,
    decision,
    inStep: isDeepStrictEqual(before, fare.before),
    joins: fare.decision.borneOut && looksAlike,
  }
}

/** Writes what watches are told by their own states: where these are the fare's, its changes tell all. */
export async function insertFirstChanges(
  tx: Tx,
  looks: readonly FirstLook[],
): Promise<OwnRecord[]> {
  const told = looks
    .filter(({ inStep }) => !inStep)
    .flatMap(({ fareId, watchIds, decision }) =>
      decision.changes.map((change) => ({ watchIds, draft: { fareId, ...change } })),
    )
  if (told.length === 0) return []
  const ids = await insertOwnChanges(
    tx,
    told.map(({ draft }) => draft),
  )
  return told.flatMap(({ watchIds }, i) =>
    watchIds.map((watchId) => ({ watchId, ownChangeId: ids[i] ?? '' })),
  )
}

/** Keeps the watches' own states, or ends them, once all of the check has been told. */
export async function saveFirstLooks(tx: Tx, looks: readonly FirstLook[]): Promise<void> {
  const moved = looks
    .filter(({ joins, before, decision }) => joins || !isDeepStrictEqual(before, decision.state))
    .flatMap(({ watchIds, askedAt, joins, decision }) =>
      watchIds.map((watchId) => ({
        watchId,
        lookedAt: joins ? askedAt : null,
        ownState: joins ? null : toJson(decision.state),
      })),
    )
  if (moved.length === 0) return
  await sql`
    update watch w
       set looked_at = m."lookedAt", own_state = m."ownState"
      from jsonb_to_recordset(${JSON.stringify(moved)}::jsonb) m ("watchId" uuid, "lookedAt" timestamptz, "ownState" jsonb)
     where w.id = m."watchId"
  `.execute(tx)
}
