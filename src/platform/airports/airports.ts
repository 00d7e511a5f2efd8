import { readFileSync } from 'node:fs'
import { lazily } from '../base/cache.ts'

/** A real airport. The attribution of these facts is at the head of the data file. */
export interface Airport {
  readonly iata: string
  /** ISO 3166-1 alpha-2. */
  readonly country: string
  /** AF, AN, AS, EU, NA, OC or SA. */
  readonly continent: string
  readonly latitude: number
  readonly longitude: number
  /** IANA name. */
  readonly zone: string
}

/** Every airport that has a code and a time zone, by IATA code. The file is read once a process, at the first use. */
export const airportsByIata = lazily((): ReadonlyMap<string, Airport> => {
  const text = readFileSync(new URL('./airports.csv', import.meta.url), 'utf8')
  const [, ...lines] = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(lines.map(parseAirport).map((airport) => [airport.iata, airport]))
})

/**
 * The IANA zone of a place as flights show it: only a code is shown as three capital letters, so the city Pau has none
 * here.
 */
export function zoneOf(shownPlace: string): string | undefined {
  return airportsByIata().get(shownPlace)?.zone
}

/** The file is ours: no field has quotes or commas. */
function parseAirport(line: string): Airport {
  const [iata, country, continent, latitude, longitude, zone] = line.split(',')
  if (!iata || !country || !continent || !zone) throw new Error(`airports.csv: bad line: ${line}`)
  return {
    iata,
    country,
    continent,
    latitude: Number(latitude),
    longitude: Number(longitude),
    zone,
  }
}
