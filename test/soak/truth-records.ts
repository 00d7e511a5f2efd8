import { gunzipSync } from 'node:zlib'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { isReplicated, lieAt, type Phase, type TruthPlan } from './truth-plan.ts'

interface Price {
  readonly amount: string
  readonly currency: string
}

interface LegView {
  readonly belief: string
  readonly price: Price | null
  readonly identity: string | null
  readonly itinerary: string | null
}

interface FareView {
  readonly pair: string
  readonly outbound: LegView
  readonly return: LegView | null
  readonly price: Price | null
  readonly priceReason?: string
}

/** A record of the feed with the answer that it cites. Times are in milliseconds since 1970. */
export interface CitedRecord {
  readonly seq: number
  readonly legs: readonly string[]
  readonly kind: string
  readonly before: FareView
  readonly after: FareView
  readonly detectedMs: number
  readonly recordedMs: number
  readonly heldMs: number | null
  /** Whether prices of many fares changed at once between its first answer and its recording. */
  readonly isInPriceMass: boolean
  readonly answer: Record<string, Entry>
}

interface Entry {
  readonly available: boolean
  readonly flight?: {
    readonly id: number
    readonly airline: { readonly id: number }
    readonly from: { readonly id: number }
    readonly to: { readonly id: number }
    readonly dates: Dates
    readonly legs: readonly Segment[]
    readonly price: {
      readonly total: string
      readonly currency: string
      readonly nonResidents: { readonly adult: number; readonly infant: number | null }
    }
  }
}

interface Dates {
  readonly departure: string
  readonly arrival: string
}

interface Segment {
  readonly number: number
  readonly from: { readonly id: number }
  readonly to: { readonly id: number }
  readonly dates: Dates
}

export async function readCited(db: Db): Promise<CitedRecord[]> {
  const { rows } = await sql<Omit<CitedRecord, 'answer'> & { body: Buffer | null }>`
    select c.seq, array_remove(array[f.flight_id, f.return_flight_id], null) as legs, c.kind, c.before, c.after,
           (extract(epoch from c.detected_at) * 1000)::float8 as "detectedMs",
           (extract(epoch from c.recorded_at) * 1000)::float8 as "recordedMs",
           (extract(epoch from c.held_since) * 1000)::float8 as "heldMs", e.body,
           exists (select from incident i
                    where i.kind = 'mass_price_change' and c.recorded_at >= i.opened_at - interval '2 seconds'
                      and (c.detected_at <= i.closed_at + interval '2 seconds' or i.closed_at is null)) as "isInPriceMass"
      from availability_change c
      join tracked_fare f on f.id = c.tracked_fare_id
      left join evidence e on e.hash = c.evidence_hash
     order by c.seq
  `.execute(db)
  return rows.map(({ body, ...record }) => ({
    ...record,
    answer: body === null ? {} : JSON.parse(gunzipSync(body).toString('utf8')),
  }))
}

const NO_FLIGHT = { price: null, identity: null, itinerary: null }

/** What the cited answer says of a leg; undefined if it says nothing. */
function legShown(id: string, entry: Entry | undefined): LegView | undefined {
  if (entry === undefined) return undefined
  if (!entry.available) return { belief: 'unavailable', ...NO_FLIGHT }
  const { flight } = entry
  if (flight === undefined || `${flight.id}` !== id) return undefined
  const { price, airline, from, to, dates, legs } = flight
  if (price.nonResidents.infant !== null) return undefined
  const segments = legs.map(
    (one) =>
      `${one.number}: ${one.from.id} ${one.dates.departure} to ${one.to.id} ${one.dates.arrival}`,
  )
  const day = dates.departure.slice(0, 10)
  return {
    belief: 'available',
    price: { amount: price.total, currency: price.currency },
    identity: `airline ${airline.id}, legs ${legs.length}, ${from.id} to ${to.id}, ${day}`,
    itinerary: [`${dates.departure} to ${dates.arrival}`, ...segments].join('; '),
  }
}

/** Where a record differs from the answer that it cites, field by field. */
export function unlikeEvidence({
  seq,
  legs,
  before,
  after,
  isInPriceMass,
  answer,
}: CitedRecord): string[] {
  const shown = legs.map((id) => legShown(id, answer[id]))
  const isLost = shown.some((leg) => leg?.belief === 'unavailable')
  const was = [before.outbound, before.return]
  const is = [after.outbound, after.return]
  const expected = shown.map((leg, at) => {
    // The one exception: in a confirmed loss the other leg keeps what was believed of it, without a price, where it is
    // unknown, or shows another flight that is not confirmed.
    const names = ['belief', 'identity', 'itinerary'] as const
    const isKept = leg === undefined || names.every((name) => is[at]?.[name] === was[at]?.[name])
    return isLost && leg?.belief !== 'unavailable' && isKept ? (was[at] ?? undefined) : leg
  })
  // A price that is unlike its parts, or that changes with those of many fares, is left out, and the record says so.
  const isDoubtful =
    after.priceReason === 'unconfirmed' && (isInPriceMass || legs.some((id) => isOdd(answer[id])))
  const bookable = expected.every((leg) => leg?.belief === 'available')
  const found = [after.outbound, after.return].flatMap((leg) => leg ?? [])
  const wrong = expected.flatMap((leg, at) => {
    const shown = found[at]
    if (leg === undefined || shown === undefined) return [`${seq}: leg ${at} is not in its answer`]
    const price = bookable && !isDoubtful ? leg.price : null
    const fields = { ...leg, price }
    return (['belief', 'identity', 'itinerary', 'price'] as const).flatMap((name) =>
      JSON.stringify(sorted(shown[name])) === JSON.stringify(sorted(fields[name]))
        ? []
        : [
            `${seq}: ${name} of leg ${at} is ${JSON.stringify(shown[name])}, shown ${JSON.stringify(fields[name])}`,
          ],
    )
  })
  const cents = expected.reduce(
    (sum, leg) => sum + Math.round(100 * Number(leg?.price?.amount ?? 0)),
    0,
  )
  const isSum =
    after.price === null
      ? !bookable || isDoubtful
      : Math.round(100 * Number(after.price.amount)) === cents
  const pair = isLost || after.pair === 'not_bookable' ? 'not_bookable' : 'bookable'
  return [
    ...wrong,
    ...(isSum
      ? []
      : [`${seq}: the price is ${after.price?.amount}, its answer has ${cents} cents`]),
    ...(after.pair === pair ? [] : [`${seq}: ${after.pair} of an answer that is ${pair}`]),
  ]
}

function isOdd(entry: Entry | undefined): boolean {
  const price = entry?.flight?.price
  return price !== undefined && Math.abs(Number(price.total) - price.nonResidents.adult) > 0.02
}

function sorted(value: LegView[keyof LegView]): unknown {
  if (value === null || typeof value === 'string') return value
  return { amount: value.amount, currency: value.currency }
}

/** A call, and the difference between two clocks of one machine. */
const CALL_MS = 12_000

/** The records that were not true at any instant of their interval, or that return to what was over. */
export function untrue(plan: TruthPlan, records: readonly CitedRecord[]): string[] {
  const lastOf = new Map<string, { fromMs: number; view: string }>()
  return records.flatMap(({ seq, legs, kind, after, detectedMs, recordedMs }) => {
    const view = JSON.stringify(after)
    const last = lastOf.get(legs.join())
    // The records of one check show the same.
    if (last?.view === view) return []
    const shown = jointPhases(plan, legs).find(
      ({ fromMs, toMs, phases }) =>
        fromMs >= (last?.fromMs ?? -1) &&
        fromMs <= recordedMs &&
        toMs >= detectedMs - CALL_MS - (legs.some(isReplicated) ? plan.replicaLagMs : 0) &&
        isTrue(after, phases),
    )
    if (shown !== undefined) {
      lastOf.set(legs.join(), { fromMs: shown.fromMs, view })
      return []
    }
    const after_ = `${after.pair} ${after.price?.amount ?? ''}`
    const lie = lieAt(plan, recordedMs)?.kind ?? 'no'
    return [`${seq}: ${legs.join('+')} ${kind} ${after_}, in ${lie} mass lie`]
  })
}

/** Of a pair that is lost by one leg, the second answer is recorded whatever it shows of the other leg. */
function isTrue({ outbound, return: back }: FareView, phases: JointPhase['phases']): boolean {
  const legs = back === null ? [outbound] : [outbound, back]
  const isLost = legs.some((leg, at) => leg.belief === 'unavailable' && !phases[at]?.amount)
  return isLost || legs.every((leg, at) => isShown(leg, phases[at]))
}

function isShown(leg: LegView, phase: Phase | undefined): boolean {
  if (phase === undefined) return false
  if (leg.belief !== 'available') return phase.amount === null || leg.belief === 'unknown'
  const isSold = phase.amount !== null && (leg.itinerary?.includes(phase.time) ?? false)
  const hasPrice = leg.price === null || Number(leg.price.amount) === Number(phase.amount)
  return isSold && hasPrice && (leg.identity?.startsWith('airline 7,') ?? false)
}

interface JointPhase {
  readonly fromMs: number
  readonly toMs: number
  readonly phases: readonly (Phase | undefined)[]
}

/** The times in which nothing changes about any flight of a fare. */
function jointPhases({ phases, endMs }: TruthPlan, legs: readonly string[]): JointPhase[] {
  const all = legs.map((id) => phases.get(id) ?? [])
  const starts = [...new Set(all.flat().map(({ fromMs }) => fromMs))].toSorted((a, b) => a - b)
  return starts.map((fromMs, at) => ({
    fromMs,
    toMs: starts[at + 1] ?? endMs + 600_000,
    phases: all.map((one) => one.findLast((phase) => phase.fromMs <= fromMs)),
  }))
}

/** True changes that lasted this long while nothing lied, and that no record shows. */
export function missed(
  plan: TruthPlan,
  records: readonly CitedRecord[],
  lastedMs: number,
): string[] {
  return plan.fares.flatMap((legs) => {
    const own = records.filter((record) => record.legs.join() === legs.join())
    return jointPhases(plan, legs).flatMap(({ fromMs, toMs, phases }) => {
      if (Math.min(toMs, plan.endMs) - fromMs < lastedMs) return []
      const until = own.findLast(({ recordedMs }) => recordedMs <= Math.min(toMs, plan.endMs))
      const pair = phases.every((phase) => phase?.amount) ? 'bookable' : 'not_bookable'
      return until?.after.pair === pair ? [] : [`${legs.join('+')} ${pair} since ${fromMs}`]
    })
  })
}
