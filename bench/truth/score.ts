import type { FareView, LegView } from '../../src/fares/state.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import type { LegObservation, Observation } from '../../src/upstream/observation.ts'
import type { Fare } from './market.ts'
import { causeOf, lieAbout } from './timeline.ts'
import type { World } from './upstream.ts'

/** Numbers by two names, such as the records of each cause and kind. */
export type Counts = Record<string, Record<string, number>>

/** What became of the true changes of one kind. */
export interface Reported {
  readonly changes: number
  /** Those that were recorded within each of `WITHIN_SECONDS`. */
  readonly within: readonly number[]
  /** Those that were shown as held before they were recorded. */
  readonly held: number
}

export const WITHIN_SECONDS = [60, 120, 600] as const
const LONGEST_MS = 1_000 * Math.max(...WITHIN_SECONDS)

export interface Score {
  /** Records that were not true at any instant between the first answer that showed them and their recording. */
  readonly falseRecords: Counts
  readonly falseList: readonly string[]
  /** True changes by kind, and by what was wrong when they happened. */
  readonly reported: Record<string, Reported>
  readonly byCause: Record<string, Reported>
  /** For how many seconds fares were shown as unknown, or their price was, although the upstream reported the truth of them. */
  readonly hidden: Counts
  /** For how many seconds a fare was shown as known of which no answer had reported anything for 15 minutes. */
  readonly silent: Counts
}

export function add(counts: Counts, [first, second]: readonly [string, string], by = 1): void {
  const row = counts[first] ?? {}
  counts[first] = row
  row[second] = (row[second] ?? 0) + by
}

export interface StoredRecord {
  readonly fareId: number
  readonly kind: string
  readonly after: FareView
  readonly detectedMs: number
  readonly recordedMs: number
}

/** All records of changes, in their order. */
export async function readRecords(db: Db): Promise<StoredRecord[]> {
  const { rows } = await sql<StoredRecord>`
    select fare_id as "fareId", kind, after,
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

async function truthsOf(world: World, fare: Fare, read: Reader): Promise<Truth[]> {
  const phases = fare.legs.flatMap((flight) => flight?.phases ?? [])
  const starts = [...new Set(phases.map(({ fromMs }) => fromMs))].toSorted((a, b) => a - b)
  return Promise.all(
    starts.map(async (fromMs, at) => {
      const { outbound, return: back } = await read(fare, fromMs)
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

/** Reads the honest answer about a fare at an instant. */
type Reader = (fare: Fare, atMs: number) => Promise<Observation>

export interface Scorer {
  /** Call it each time that `seconds` have passed. */
  sample(atMs: number, seconds: number): Promise<void>
  /** Compares all records with the truth. */
  score(): Promise<Score>
}

interface ScorerDeps {
  readonly db: Db
  readonly world: World
  /** By the number of the tracked fare. */
  readonly fares: ReadonlyMap<number, Fare>
  readonly read: Reader
}

/** After so long without an answer that reports anything, a fare should not be shown as known. */
const SILENT_MS = 15 * 60_000

export function createScorer({ db, world, fares, read }: ScorerDeps): Scorer {
  const { periods, knownMs } = world
  const hidden: Counts = {}
  const silent: Counts = {}
  const heldAt = new Map<Fare, number[]>()
  return {
    sample: async (atMs, seconds) => {
      const now = await readHidden(db)
      for (const [id, fare] of fares) {
        const reason = now.get(id)
        if (reason?.includes('held')) heldAt.set(fare, [...(heldAt.get(fare) ?? []), atMs])
        const found = lieAbout(periods, fare, atMs)
        if (found === undefined) {
          if (reason !== undefined) add(hidden, [causeOf(periods, fare, atMs), reason], seconds)
        } else if (found.lie.isSilent && atMs - found.sinceMs > SILENT_MS && reason === undefined) {
          add(silent, [found.lie.name, 'shown'], seconds)
        }
      }
    },
    score: async () => {
      const records = Map.groupBy(await readRecords(db), ({ fareId }) => fareId)
      const score = {
        falseRecords: {},
        falseList: [] as string[],
        reported: {},
        byCause: {},
        hidden,
        silent,
      }
      for (const [id, fare] of fares) {
        const truths = await truthsOf(world, fare, read)
        const own = (records.get(id) ?? []).filter(({ recordedMs }) => recordedMs >= knownMs)
        for (const record of own.filter((one) => !isEverTrue(one, truths))) {
          const cause = causeOf(periods, fare, record.detectedMs)
          add(score.falseRecords, [cause, record.kind])
          score.falseList.push(lineOf(record, { fare, world, cause }))
        }
        const all = { fare, truths, records: records.get(id) ?? [], heldAt: heldAt.get(fare) ?? [] }
        countReported(world, all, score)
      }
      return score
    },
  }
}

/** What is shown as unknown now, and why. */
async function readHidden(db: Db): Promise<Map<number, string>> {
  const { rows } = await sql<{ id: number; reason: string }>`
    select fare_id as id,
           case when state = 'unknown' or stale then coalesce(hidden_reason, case when stale then 'stale' else 'unknown' end)
                else 'price ' || coalesce(price_reason, 'unknown') end as reason
      from farewatch.fares_current
     where state = 'unknown' or stale or (state = 'bookable' and price is null)
  `.execute(db)
  return new Map(rows.map(({ id, reason }) => [id, reason]))
}

function isEverTrue(record: StoredRecord, truths: readonly Truth[]): boolean {
  const { detectedMs, recordedMs } = record
  return truths.some(
    (truth) => truth.fromMs <= recordedMs && truth.toMs > detectedMs && isTrue(record, truth),
  )
}

/** A fare with what was true, recorded and shown of it. */
interface Life {
  readonly fare: Fare
  readonly truths: readonly Truth[]
  readonly records: readonly StoredRecord[]
  readonly heldAt: readonly number[]
}

/** Changes that last too short, or begin too late, for a record in the longest time are left out. */
function countReported(
  { knownMs, endMs, periods }: World,
  { fare, truths, records, heldAt }: Life,
  into: { reported: Record<string, Reported>; byCause: Record<string, Reported> },
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
    const afterMs = (record?.recordedMs ?? Number.POSITIVE_INFINITY) - fromMs
    const isHeld = heldAt.some(
      (heldMs) => heldMs >= fromMs && heldMs <= Math.min(toMs, fromMs + afterMs),
    )
    for (const [counts, name] of [
      [into.reported, kind],
      [into.byCause, causeOf(periods, fare, fromMs)],
    ] as const) {
      const { changes, within, held } = counts[name] ?? { changes: 0, within: [], held: 0 }
      counts[name] = {
        changes: changes + 1,
        within: WITHIN_SECONDS.map(
          (limit, i) => (within[i] ?? 0) + (afterMs <= 1_000 * limit ? 1 : 0),
        ),
        held: held + (isHeld ? 1 : 0),
      }
    }
  }
}

function lineOf(
  { kind, after, detectedMs, recordedMs }: StoredRecord,
  { fare, world, cause }: { fare: Fare; world: World; cause: string },
): string {
  const second = (ms: number) => `${Math.round((ms - world.startMs) / 1_000)} s`
  const shown = `${after.pair} ${after.price?.amount ?? ''} ${after.price?.currency ?? ''}`.trim()
  return `fare ${fare.number}: ${kind}, ${shown}, since ${second(detectedMs)}, at ${second(recordedMs)} (${cause})`
}
