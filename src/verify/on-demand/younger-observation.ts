import { gunzipSync } from 'node:zlib'
import { sameMoney } from '../../base/money.ts'
import { sql, type Tenant } from '../../db/database.ts'
import { readVerifyAnswer } from '../../upstream/flights/verify-answer.ts'
import type { LegObservation, Question } from '../../upstream/observation.ts'
import { fromJson } from '../decide/fare-state.ts'
import type { LegState } from '../decide/leg-state.ts'
import { flightsIn, resultOf } from './said.ts'
import { asksQuestion } from './same-question.ts'

/** An answer that was had before, and when its request began, by the database's clock. */
export interface YoungerObservation {
  readonly observedAt: Date
  /** The text of the interface's Verify result. */
  readonly result: string
}

/**
 * The last answer to a question that a reseller watches, where it is younger than `maxAgeSeconds`, told of every
 * flight, and was believed; else undefined.
 *
 * Of a fare that others watch a reseller is told nothing, nor of one's own what was known before one watched it: only
 * what was observed since may come faster than from the upstream.
 */
export async function findYoungerObservation(
  { db, resellerId }: Tenant,
  question: Question,
  maxAgeSeconds: number,
): Promise<YoungerObservation | undefined> {
  const { rows } = await sql<WatchedRow>`
    select s.state, e.body,
           greatest(w.began_at, clock_timestamp() - make_interval(secs => ${maxAgeSeconds}::int)) as "notBefore"
      from (select id from tracked_fare where ${asksQuestion(question)} and ended_at is null) f
      join fare_state s on s.tracked_fare_id = f.id and s.expired_at is null and s.state <> '{}'
     cross join lateral (select min(began_at) as began_at
                           from watch join reseller r on r.id = reseller_id
                          where tracked_fare_id = f.id and reseller_id = ${resellerId}
                            and paused_at is null and ended_at is null and r.disabled_at is null
                         having count(*) > 0) w
      left join lateral (select evidence_hash from availability_change
                          where tracked_fare_id = f.id order by seq desc limit 1) c on true
      left join evidence e on e.hash = c.evidence_hash
  `.execute(db)
  const [row] = rows
  return row && youngerOf(question, row)
}

interface WatchedRow {
  readonly state: object
  /** The answer by which the last change was confirmed, compressed; null where it is not kept any more. */
  readonly body: Buffer | null
  readonly notBefore: Date
}

/**
 * The state remembers when all of it was last borne out; the flights stand in the answer of the last change, and are
 * those that were seen then, as far as they are compared: since then nothing of that has changed.
 */
function youngerOf(
  question: Question,
  { state, body, notBefore }: WatchedRow,
): YoungerObservation | undefined {
  const { outbound, return: back } = fromJson(state)
  const text = body === null ? null : gunzipSync(body).toString()
  const kept = text === null ? null : readVerifyAnswer([Buffer.from(text)], question, (it) => it)
  const legs = [
    { id: question.flightId, leg: outbound, said: kept?.outbound },
    ...(question.returnFlightId === null || back === null
      ? []
      : [{ id: question.returnFlightId, leg: back, said: kept?.return }]),
  ]
  if (!legs.every(({ leg, said }) => isBorneOut(leg, said ?? undefined))) return undefined
  const observedAt = new Date(Math.min(...legs.map(({ leg }) => Date.parse(leg.agreedAt ?? ''))))
  if (!(observedAt >= notBefore)) return undefined
  const result = resultOf(
    legs.map(({ id, leg }) => ({ id, available: leg.belief === 'available' })),
    flightsIn(text),
  )
  return result === undefined ? undefined : { observedAt, result }
}

/** Whether the last answer that told of a leg said what is believed of it, and `said` shows that flight. */
function isBorneOut(leg: LegState, said: LegObservation | undefined): boolean {
  if (leg.against > 0 || leg.strange !== null || leg.agreedAt === null) return false
  if (leg.belief === 'unavailable') return true
  if (leg.belief === 'unknown' || said?.kind !== 'available') return false
  const { identity, itinerary, price } = said.flight
  return identity === leg.identity && itinerary === leg.itinerary && sameMoney(price, leg.price)
}
