import type { Airport } from './airports.ts'
import { MINUTE_MS } from './episodes.ts'

const EARTH_RADIUS_KM = 6371
const CRUISE_KM_PER_HOUR = 800
const TAXI_AND_CLIMB_MINUTES = 35

/** Great-circle distance, by the haversine formula. */
export function distanceKm(a: Airport, b: Airport): number {
  const radians = Math.PI / 180
  const dLat = ((b.latitude - a.latitude) * radians) / 2
  const dLon = ((b.longitude - a.longitude) * radians) / 2
  const cosines = Math.cos(a.latitude * radians) * Math.cos(b.latitude * radians)
  const h = Math.sin(dLat) ** 2 + cosines * Math.sin(dLon) ** 2
  return 2 * EARTH_RADIUS_KM * Math.asin(Math.min(1, Math.sqrt(h)))
}

/** Gate to gate, in whole five minutes. */
export function flightMinutes(a: Airport, b: Airport): number {
  const minutes = TAXI_AND_CLIMB_MINUTES + (distanceKm(a, b) / CRUISE_KM_PER_HOUR) * 60
  return Math.ceil(minutes / 5) * 5
}

/** Creating a format costs fifty times as much as using it. One for each time zone of the airports. */
const formats = new Map<string, Intl.DateTimeFormat>()

/** The offset of the zone from UTC at that instant, in milliseconds. */
export function zoneOffsetMs(zone: string, instant: number): number {
  let format = formats.get(zone)
  if (!format) {
    format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' })
    formats.set(zone, format)
  }
  const match = /GMT([+-])(\d\d):(\d\d)/.exec(format.format(instant))
  if (!match) return 0
  const minutes = Number(match[2]) * 60 + Number(match[3])
  return (match[1] === '-' ? -minutes : minutes) * MINUTE_MS
}

/** The instant of a local time; `local` is that time as if it were UTC. */
export function instantOfLocal(zone: string, local: number): number {
  const guess = local - zoneOffsetMs(zone, local)
  return local - zoneOffsetMs(zone, guess)
}

/** The local time, `YYYY-MM-DD HH:MM`. */
export function localText(zone: string, instant: number): string {
  const local = new Date(instant + zoneOffsetMs(zone, instant)).toISOString()
  return `${local.slice(0, 10)} ${local.slice(11, 16)}`
}
