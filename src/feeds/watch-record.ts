import {
  type FareRecordKind,
  HELD_BY,
  type RouteChangeKind,
  type WatchChangeKind,
} from '../platform/base/change-kinds.ts'
import type { ChangeReason } from '../platform/base/kinds.ts'
import { type Money, moneyOf, sameMoney } from '../platform/base/money.ts'
import { type RawBuilder, sql } from '../platform/db/database.ts'
import type { Question } from '../upstream/question.ts'
import type { Belief, Flight } from './change-shapes.ts'
import { publicFare, publicFlight } from './public-fare.ts'
import type { PlaceChange, RecordEvidence, ShownRoute } from './watch-change-shapes.ts'

/** What every record of a reseller's feed has. */
interface Numbered {
  readonly seq: number
  /** The version of the record's schema; it rises when records may have a new shape or kind. */
  readonly schemaVersion: number
  readonly detectedAt: Date
  readonly recordedAt: Date
}

/** What changed for one of a reseller's watches of a fare. It shows nothing of other watches. */
export interface WatchChange extends Numbered, Question {
  readonly kind: FareRecordKind
  /** Why the fare was lost or ended. Null for other kinds, and for records before schema version 3. */
  readonly reason: ChangeReason | null
  readonly watchId: string
  /** As it was when the record was written. */
  readonly reference: string
  /** The present name of the watch's list; of a deleted watch the name when the record was written. */
  readonly list: string | null
  /** Where the watch is shown; null without a public address or a list. */
  readonly link: string | null
  readonly flights: { readonly outbound: Flight | null; readonly return: Flight | null }
  /** Null of `watch_started` alone. */
  readonly before: Belief | null
  readonly after: Belief | null
  readonly lastGoodCheckAt: Date | null
  /** When the check began that shows `after`. Unset except for `watch_started`. */
  readonly observedAt?: Date
  /** What the watch wants of a price and the record shows. */
  readonly intents: readonly string[]
  /** By how much the price is below what was paid; null unless the watch wants that. */
  readonly saving: Money | null
  readonly context: PriceContext | null
  readonly evidence: RecordEvidence
}

/** What changed of a route, or of a place, that the reseller chose. */
export interface RouteRecord extends Numbered {
  readonly kind: RouteChangeKind
  /** Null, as the next two, where no watch of the route chose it. */
  readonly watchId: string | null
  readonly reference: string | null
  readonly list: string | null
  readonly route?: ShownRoute | null
  readonly place?: PlaceChange
  /** The accepted list. */
  readonly runId: number
  /** When the route was listed first. Null of a place. */
  readonly firstSeenAt: Date | null
}

export type FeedRecord = WatchChange | RouteRecord

/** A price among those of its fare before: of each UTC day the lowest, in its currency. */
export interface PriceContext {
  /** How far back they go. */
  readonly days: number
  /** How many days have one. */
  readonly prices: number
  readonly lowest: boolean
  /** On how many percent of these days the fare was cheaper; null below ten. */
  readonly percentile: number | null
}

type Incident = NonNullable<NonNullable<RecordEvidence['held']>['incident']>

/** Columns of record `w` with its change `c` or event `e` and its fare `f`, from which facts follow. */
export const FACT_COLUMNS = {
  outbound: shownFlight('outbound'),
  back: sql`case when f.return_flight_id is not null then ${shownFlight('return')} end`,
  askedAt: sql<string | null>`c.provenance ->> 'askedAt'`,
  heldSince: sql<Date | null>`c.held_since`,
  incident: sql<Incident | null>`
    case when c.held_since is not null then (
      select json_build_object('id', i.id, 'kind', i.kind)
        from incident i
        join unnest(${Object.keys(HELD_BY)}::text[], ${Object.values(HELD_BY)}::text[]) mass (kind, held)
          on mass.kind = i.kind
       where (mass.held = c.kind or c.kind = 'legs_changed' and mass.held in ('became_unavailable', 'became_available'))
         and i.opened_at <= c.recorded_at and coalesce(i.closed_at >= c.held_since, true)
       order by i.opened_at
       limit 1) end
  `,
}

/**
 * The flight of a leg as the record shows it, after or before the change; else as the last record of the fare before it
 * did, because a state that is not bookable names no flight.
 */
function shownFlight(leg: 'outbound' | 'return'): RawBuilder<unknown> {
  const path = sql.lit(`{${leg},flight}`)
  const flightIn = (state: RawBuilder<unknown>) =>
    sql`case when jsonb_typeof(${state} #> ${path}) = 'object' then ${state} #> ${path} end`
  return sql`
    coalesce(
      ${flightIn(sql`coalesce(c.after, e.after)`)}, ${flightIn(sql`coalesce(c.before, e.before)`)},
      (select earlier.before #> ${path}
         from availability_change earlier
        where earlier.tracked_fare_id = f.id and earlier.recorded_at <= w.recorded_at
          and jsonb_typeof(earlier.before #> ${path}) = 'object'
        order by earlier.seq desc
        limit 1))
  `
}

/** A row of any record. */
interface FeedRow
  extends Omit<RouteRecord, 'kind' | 'place' | 'runId'>,
    Pick<WatchChangeRow, 'before' | 'after'> {
  readonly kind: WatchChangeKind
  readonly placeId: string | null
  /** Null of a record of a fare. */
  readonly runId: number | null
}

/** @param publicUrl the address of the page; undefined if it is not known. */
export function toFeedRecord(row: FeedRow, publicUrl: string | undefined): FeedRecord {
  const { route, placeId, runId, firstSeenAt, ...fare } = row
  if (runId === null) return toWatchChange(fare as unknown as WatchChangeRow, publicUrl)
  const { before, after } = row
  const subject =
    placeId === null ? { route } : { place: { id: placeId, before, after } as PlaceChange }
  return {
    seq: row.seq,
    kind: row.kind as RouteChangeKind,
    schemaVersion: row.schemaVersion,
    list: row.list,
    reference: row.reference,
    watchId: row.watchId,
    ...subject,
    firstSeenAt,
    runId,
    detectedAt: row.detectedAt,
    recordedAt: row.recordedAt,
  } as RouteRecord
}

/** A row with FACT_COLUMNS. */
export type WatchChangeRow = Omit<
  WatchChange,
  'link' | 'flights' | 'before' | 'after' | 'evidence' | 'observedAt' | 'saving'
> & {
  /** As they are stored, like the two flights. */
  readonly before: unknown
  readonly after: unknown
  readonly outbound: unknown
  readonly back: unknown
  readonly saving: string | null
  /** Of a change of the price: that of the record before it. */
  readonly notifiedAmount: string | null
  readonly notifiedCurrency: string | null
  readonly askedAt: string | null
  readonly heldSince: Date | null
  readonly incident: Incident | null
}

/** @param publicUrl the address of the page; undefined if it is not known. */
export function toWatchChange<Row extends WatchChangeRow>(
  {
    outbound,
    back,
    askedAt,
    heldSince,
    incident,
    saving,
    notifiedAmount,
    notifiedCurrency,
    ...row
  }: Row,
  publicUrl: string | undefined,
) {
  const isStart = row.kind === 'watch_started'
  const asked = isStart ? row.detectedAt : new Date(askedAt ?? Number.NaN)
  const after = publicFare(row.after)
  return {
    ...row,
    link: linkOf(row, publicUrl),
    flights: { outbound: publicFlight(outbound), return: publicFlight(back) },
    before: notifiedFare(publicFare(row.before), moneyOf(notifiedAmount, notifiedCurrency)),
    after,
    saving: moneyOf(saving, after?.price?.currency ?? null),
    ...(isStart ? { observedAt: row.detectedAt } : {}),
    evidence: {
      askedAt: Number.isNaN(asked.getTime()) ? null : asked,
      since: row.detectedAt,
      held: heldSince === null ? null : { since: heldSince, incident },
    },
  }
}

/** The belief before, with the price that was notified last. Of a price other than that of its legs, only the sum is known. */
function notifiedFare(before: Belief | null, notified: Money | null): Belief | null {
  if (before === null || notified === null || sameMoney(before.price, notified)) return before
  const { outbound, return: back } = before
  const unpriced = { price: null, passengerPrices: null }
  return {
    ...before,
    outbound: { ...outbound, ...unpriced },
    return: back && { ...back, ...unpriced },
    price: notified,
  }
}

function linkOf(
  { list, reference }: Pick<WatchChange, 'list' | 'reference'>,
  publicUrl: string | undefined,
): string | null {
  if (publicUrl === undefined || list === null) return null
  return `${publicUrl}/#/watches/${encodeURIComponent(list)}/${encodeURIComponent(reference)}`
}
