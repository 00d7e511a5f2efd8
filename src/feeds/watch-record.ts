import { zoneOf } from '../platform/airports/airports.ts'
import type { ChangeReason, WatchChangeKind } from '../platform/base/kinds.ts'
import { HELD_BY } from '../platform/base/kinds.ts'
import { instantOfLocal, zoneOffsetMs } from '../platform/base/local-time.ts'
import { type RawBuilder, sql } from '../platform/db/database.ts'
import type { Passengers } from './change-shapes.ts'
import type { FlightEnd, RecordEvidence, RecordFlight } from './watch-change-shapes.ts'

/** A record of one reseller's feed: what changed for one of its watches. It shows nothing of other watches. */
export interface WatchChange {
  readonly seq: number
  /** The generation of the feed in which it was written. */
  readonly generation: number
  readonly kind: WatchChangeKind
  /** Why the fare was lost or ended. Null for other kinds, and for records before schema version 3. */
  readonly reason: ChangeReason | null
  /** The version of the record's schema; it rises when records may have a new shape or kind. */
  readonly schemaVersion: number
  readonly watchId: string
  /** As it was when the record was written. */
  readonly reference: string
  /** The present name of the watch's list; of a deleted watch the name when the record was written. */
  readonly list: string | null
  /** Where the watch is shown; null without a public address or a list. */
  readonly link: string | null
  readonly flightId: string
  readonly returnFlightId: string | null
  readonly passengers: Passengers
  readonly flights: { readonly outbound: RecordFlight | null; readonly return: RecordFlight | null }
  /** Null of `watch_started` alone. */
  readonly before: unknown
  readonly after: unknown
  readonly lastGoodCheckAt: Date | null
  readonly detectedAt: Date
  /** When the check began that shows `after`. Unset except for `watch_started`. */
  readonly observedAt?: Date
  readonly evidence: RecordEvidence
  readonly recordedAt: Date
}

/** The counts of tracked fare `f`. */
export const PASSENGERS = sql<Passengers>`
  json_build_object(
    'residents', json_build_object(
      'adults', f.residents_adults, 'children', f.residents_children, 'infants', f.residents_infants),
    'nonResidents', json_build_object(
      'adults', f.non_residents_adults, 'children', f.non_residents_children, 'infants', f.non_residents_infants))
`

type Incident = NonNullable<NonNullable<RecordEvidence['held']>['incident']>

/** Columns of record `w` with its change `c` or event `e` and its fare `f`, from which facts follow. */
export const FACT_COLUMNS = {
  passengers: PASSENGERS,
  outbound: shownLeg('outbound'),
  back: sql<ShownLeg | null>`case when f.return_flight_id is not null then ${shownLeg('return')} end`,
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

interface ShownLeg {
  readonly flight: Readonly<Record<string, unknown>>
  readonly from: StoredPlace | null
  readonly to: StoredPlace | null
}

type StoredPlace = FlightEnd['place'] & { readonly id: string }

/**
 * A leg with its flight as the record shows it, after or before the change; else as the last record of the fare before
 * it did, because a state that is not bookable names no flight. The ids of its places are in its identity. Without
 * `offset 0` the planner would repeat the search at each of its six uses.
 */
function shownLeg(leg: 'outbound' | 'return'): RawBuilder<ShownLeg | null> {
  const name = sql.lit(leg)
  const withFlight = (state: RawBuilder<unknown>) =>
    sql`case when jsonb_typeof(${state} -> ${name} -> 'flight') = 'object' then ${state} -> ${name} end`
  const place = (alias: string) => {
    const table = sql.ref(alias)
    return sql`json_build_object('id', ids.${table}, 'code', ${table}.iata, 'city', ${table}.city, 'country', ${table}.country)`
  }
  return sql`
    (select json_build_object('flight', shown.leg -> 'flight', 'from', ${place('departure')}, 'to', ${place('arrival')})
       from (select coalesce(
               ${withFlight(sql`coalesce(c.after, e.after)`)}, ${withFlight(sql`coalesce(c.before, e.before)`)},
               (select earlier.before -> ${name}
                  from availability_change earlier
                 where earlier.tracked_fare_id = f.id and earlier.recorded_at <= w.recorded_at
                   and jsonb_typeof(earlier.before -> ${name} -> 'flight') = 'object'
                 order by earlier.seq desc
                 limit 1)) as leg
              offset 0) shown
      cross join lateral (
            select substring(shown.leg ->> 'identity' from '(\\d+) to ') as departure,
                   substring(shown.leg ->> 'identity' from ' to (\\d+)') as arrival) ids
       left join place_version departure on departure.place_id = ids.departure and departure.valid_to is null
       left join place_version arrival on arrival.place_id = ids.arrival and arrival.valid_to is null
      where shown.leg is not null)
  `
}

/** A row with FACT_COLUMNS. */
type WatchChangeRow = Omit<WatchChange, 'link' | 'flights' | 'evidence' | 'observedAt'> & {
  readonly outbound: ShownLeg | null
  readonly back: ShownLeg | null
  readonly askedAt: string | null
  readonly heldSince: Date | null
  readonly incident: Incident | null
}

/** @param publicUrl the address of the page; undefined if it is not known. */
export function toWatchChange<Row extends WatchChangeRow>(
  { outbound, back, askedAt, heldSince, incident, ...row }: Row,
  publicUrl: string | undefined,
) {
  const isStart = row.kind === 'watch_started'
  const asked = isStart ? row.detectedAt : new Date(askedAt ?? Number.NaN)
  return {
    ...row,
    link: linkOf(row, publicUrl),
    flights: { outbound: outbound && flightOf(outbound), return: back && flightOf(back) },
    ...(isStart ? { observedAt: row.detectedAt } : {}),
    evidence: {
      askedAt: Number.isNaN(asked.getTime()) ? null : asked,
      since: row.detectedAt,
      held: heldSince === null ? null : { since: heldSince, incident },
    },
  }
}

function linkOf(
  { list, reference }: Pick<WatchChange, 'list' | 'reference'>,
  publicUrl: string | undefined,
): string | null {
  if (publicUrl === undefined || list === null) return null
  return `${publicUrl}/#/watches/${encodeURIComponent(list)}/${encodeURIComponent(reference)}`
}

/** Null for a flight of a form that this version does not know: it must not hold up other records. */
function flightOf({ flight, from, to }: ShownLeg): RecordFlight | null {
  const { airline, airlineCode, numbers, departsBy } = flight
  // The answer contradicts our zones of its places, so neither is shown.
  const zone = departsBy === undefined ? zoneOf : () => undefined
  const departure = endOf({ known: from, name: flight.from, localTime: flight.departsAt }, zone)
  const arrival = endOf({ known: to, name: flight.to, localTime: flight.arrivesAt }, zone)
  if (departure === null || arrival === null || typeof airline !== 'string') return null
  if (!Array.isArray(numbers)) return null
  const code = typeof airlineCode === 'string' ? airlineCode : null
  return { airline: { code, name: airline }, numbers, departure, arrival }
}

const CODE = /^[A-Z]{3}$/
const LOCAL_TIME = /^\d{4}-\d\d-\d\d \d\d:\d\d$/

interface ShownEnd {
  readonly known: StoredPlace | null
  /** The code of the place, or its city or id if it has none. */
  readonly name: unknown
  readonly localTime: unknown
}

function endOf({ known, name, localTime }: ShownEnd, zoneAt: typeof zoneOf): FlightEnd | null {
  if (typeof name !== 'string' || typeof localTime !== 'string') return null
  const local = LOCAL_TIME.test(localTime) ? Date.parse(`${localTime.replace(' ', 'T')}:00Z`) : NaN
  if (Number.isNaN(local)) return null
  const zone = zoneAt(name) ?? null
  const code = CODE.test(name) ? name : known?.code || null
  const place = {
    id: known?.id ?? null,
    code,
    city: known?.city || null,
    country: known?.country || null,
  }
  return { place, localTime, zone, at: zone === null ? null : withOffset(zone, local) }
}

/** @example withOffset('Europe/Madrid', Date.parse('2026-11-24T10:25Z')) // '2026-11-24T10:25:00+01:00' */
function withOffset(zone: string, local: number): string {
  const instant = instantOfLocal(zone, local)
  const offset = zoneOffsetMs(zone, instant)
  const minutes = Math.abs(offset) / 60_000
  const two = (value: number) => String(value).padStart(2, '0')
  const time = new Date(instant + offset).toISOString().slice(0, 19)
  return `${time}${offset < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
}
