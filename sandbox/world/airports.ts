import { readFileSync } from 'node:fs'

/** A real airport. The head of the data file names the source of these facts. */
export interface Airport {
  /** Three digits, never reassigned, because flight ids contain them. */
  readonly id: number
  readonly iata: string
  readonly city: string
  readonly country: string
  readonly latitude: number
  readonly longitude: number
  /** IANA name. */
  readonly zone: string
  /** The size of the airport: 1 is an airstrip with a few flights, 5 is a hub of its continent. */
  readonly size: number
  /** Whether residents fly to the rest of their country at a resident fare. */
  readonly residentFares: boolean
}

/** Reads the data file. */
export function readAirports(): Airport[] {
  const text = readFileSync(new URL('./airports.csv', import.meta.url), 'utf8')
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return lines.slice(1).map(parseAirport)
}

/** No field of the file has quotes or commas. */
function parseAirport(line: string): Airport {
  const [id, iata, city, country, latitude, longitude, zone, size, residents] = line.split(',')
  if (!iata || !city || !country || !zone) throw new Error(`airports.csv: bad line: ${line}`)
  return {
    id: Number(id),
    iata,
    city,
    country,
    latitude: Number(latitude),
    longitude: Number(longitude),
    zone,
    size: Number(size),
    residentFares: residents === 'yes',
  }
}
