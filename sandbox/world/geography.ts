import { zoneOffsetMs } from '../../src/platform/base/local-time.ts'
import type { Airport } from './airports.ts'

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

/** The local time of a zone, `YYYY-MM-DD HH:MM`. */
export function localText(zone: string, instant: number): string {
  const local = new Date(instant + zoneOffsetMs(zone, instant)).toISOString()
  return `${local.slice(0, 10)} ${local.slice(11, 16)}`
}
