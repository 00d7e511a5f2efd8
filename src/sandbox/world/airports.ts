import { readFileSync } from 'node:fs'

/** A real airport. The attribution of these facts stands at the head of the data file. */
export interface Airport {
  /** Three digits, never reassigned: flight ids are made of them. */
  readonly id: number
  readonly iata: string
  readonly city: string
  readonly country: string
  readonly latitude: number
  readonly longitude: number
  /** IANA name. */
  readonly zone: string
  /** 1 an airstrip with a few flights, 5 a hub of its continent. */
  readonly size: number
  /** Whether those who live here fly to the rest of their country at a resident fare. */
  readonly residentFares: boolean
}

/** Reads the data file; once a world, so nothing is kept in the module. */
export function readAirports(): Airport[] {
  const text = readFileSync(new URL('./airports.csv', import.meta.url), 'utf8')
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return lines.slice(1).map(parseAirport)
}

/** The file is ours and holds neither quotes nor commas in a field. */
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
