import type { FareView, LegView } from '../../src/fares/state.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import type { LegObservation } from '../../src/upstream/observation.ts'
import type { Fare } from './market.ts'
import { read } from './product.ts'
import { causeOf, truthOf, type World } from './timeline.ts'

/** Of the true changes of one kind, how many there are, and within which seconds each was recorded. */
export interface Score {
  /** How many records were not true at any instant between the first answer that showed them and their recording, by cause. */
  readonly falseRecords: Map<string, number>
  /** The seconds until each true change was recorded, by kind. */
  readonly delays: Map<string, number[]>
}

/** A change that is not recorded within this time counts as not recorded; one that lasts less does not count. */
const LONGEST_MS = 600_000

interface StoredRecord {
  readonly fareId: number
  readonly kind: string
  readonly after: FareView
  readonly detectedMs: number
  readonly recordedMs: number
}

/** All records of changes, in their order. */
async function readRecords(db: Db): Promise<StoredRecord[]> {
  const { rows } = await sql<StoredRecord>`
    select tracked_fare_id as "fareId", kind, after,
           (extract(epoch from detected_at) * 1000)::float8 as "detectedMs",
           (extract(epoch from recorded_at) * 1000)::float8 as "recordedMs"
      from availability_change
     order by seq
  `.execute(db)
  return rows
}

/** A time in which nothing changes about the flights of a fare, as an honest answer shows it. */
interface Truth {
  readonly fromMs: number
  readonly toMs: number
  readonly legs: readonly LegObservation[]
  readonly isBookable: boolean
}

async function truthsOf(world: World, fare: Fare): Promise<Truth[]> {
  const phases = fare.legs.flatMap((flight) => flight?.phases ?? [])
  const starts = [...new Set(phases.map(({ fromMs }) => fromMs))].toSorted((a, b) => a - b)
  return Promise.all(
    starts.map(async (fromMs, at) => {
      const { outbound, return: back } = await read(fare, truthOf(fare, fromMs))
      const legs = back === null ? [outbound] : [outbound, back]
      const isBookable = legs.every(({ kind }) => kind === 'available')
      return { fromMs, toMs: starts[at + 1] ?? world.endMs, legs, isBookable }
    }),
  )
}

function legsOf({ outbound, return: back }: FareView): LegView[] {
  return back === null ? [outbound] : [outbound, back]
}

function isShown(view: LegView, leg: LegObservation | undefined, withPrice: boolean): boolean {
  if (leg === undefined || view.belief !== leg.kind) return false
  if (leg.kind !== 'available') return true
  const { identity, itinerary, price } = leg.flight
  const hasPrice =
    view.price === null
      ? !withPrice
      : view.price.amount === price?.amount && view.price.currency === price.currency
  return view.identity === identity && view.itinerary === itinerary && hasPrice
}

const OF_LOSSES = ['first_seen', 'became_unavailable', 'expired']

/** A loss is true if the leg is sold out. Everything else is true if all that it shows is. */
function isTrue({ kind, after }: StoredRecord, { legs }: Truth): boolean {
  const views = legsOf(after)
  const isLost = views.some(
    (view, at) => view.belief === 'unavailable' && legs[at]?.kind === view.belief,
  )
  if (after.pair === 'not_bookable' && OF_LOSSES.includes(kind)) return isLost
  return views.every((view, at) => view.belief === 'unknown' || isShown(view, legs[at], false))
}

/** Whether a record reports what is true now. */
function reports(
  { after }: StoredRecord,
  { isBookable, legs }: Truth,
  withPrice: boolean,
): boolean {
  if (!isBookable) return after.pair === 'not_bookable'
  return legsOf(after).every((view, at) => isShown(view, legs[at], withPrice))
}

/** What a reseller learns from a change of the truth; undefined if nothing. */
function kindOf(before: Truth, now: Truth): string | undefined {
  if (before.isBookable !== now.isBookable) return now.isBookable ? 'reopening' : 'loss'
  if (!now.isBookable) return undefined
  const pairs = now.legs.map((leg, at) => [before.legs[at], leg] as const)
  const differs = (of: 'identity' | 'itinerary') =>
    pairs.some(
      ([was, is]) =>
        was?.kind === 'available' && is.kind === 'available' && was.flight[of] !== is.flight[of],
    )
  if (differs('identity')) return 'identity'
  if (differs('itinerary')) return 'times'
  const [from, to] = [amountOf(before), amountOf(now)]
  if (from === to) return undefined
  return Math.abs(to - from) <= 0.1 * from ? 'price, by at most a tenth' : 'price, by more'
}

function amountOf({ legs }: Truth): number {
  return legs.reduce(
    (sum, leg) => sum + (leg.kind === 'available' ? Number(leg.flight.price?.amount) : 0),
    0,
  )
}

/** Compares all records with the truth. @param fares by the number of the tracked fare */
export async function scoreOf(
  db: Db,
  world: World,
  fares: ReadonlyMap<number, Fare>,
): Promise<Score> {
  const all = Map.groupBy(await readRecords(db), ({ fareId }) => fareId)
  const score: Score = { falseRecords: new Map(), delays: new Map() }
  for (const [id, fare] of fares) {
    const [truths, records] = [await truthsOf(world, fare), all.get(id) ?? []]
    for (const record of records) {
      if (record.recordedMs < world.knownMs || isEverTrue(record, truths)) continue
      const cause = causeOf(world, fare, record.detectedMs)
      score.falseRecords.set(cause, 1 + (score.falseRecords.get(cause) ?? 0))
    }
    addDelays(world, { truths, records }, score)
  }
  return score
}

function isEverTrue(record: StoredRecord, truths: readonly Truth[]): boolean {
  const { detectedMs, recordedMs } = record
  return truths.some(
    (truth) => truth.fromMs <= recordedMs && truth.toMs > detectedMs && isTrue(record, truth),
  )
}

function addDelays(
  { knownMs, endMs }: World,
  { truths, records }: { truths: readonly Truth[]; records: readonly StoredRecord[] },
  { delays }: Score,
): void {
  for (const [at, truth] of truths.entries()) {
    const { fromMs, toMs } = truth
    const before = truths[at - 1]
    const kind = before && kindOf(before, truth)
    const isCounted = fromMs >= knownMs && Math.min(toMs, endMs) - fromMs >= LONGEST_MS
    if (kind === undefined || !isCounted) continue
    const withPrice = kind.startsWith('price')
    const last = records.findLast(({ recordedMs }) => recordedMs < fromMs)
    // A false record, or a loss that was missed, may show it already.
    if (last !== undefined && reports(last, truth, withPrice)) continue
    const record = records.find(
      (one) => one.recordedMs >= fromMs && one.recordedMs < toMs && reports(one, truth, withPrice),
    )
    const seconds = ((record?.recordedMs ?? Number.POSITIVE_INFINITY) - fromMs) / 1_000
    delays.set(kind, [...(delays.get(kind) ?? []), seconds])
  }
}
