import { parse } from 'csv-parse/sync'
import { describe, expect, it } from 'vitest'
import { csvText } from '../../src/routes/read/export-routes.ts'
import type { RouteRow } from '../../src/routes/read/route-queries.ts'

function row(fields: Partial<RouteRow> = {}): RouteRow {
  return {
    departureId: '1',
    departureIata: 'PMI',
    departureCity: 'Palma',
    departureCountry: 'Spain',
    destinationId: '2',
    destinationIata: 'MAD',
    destinationCity: 'Madrid',
    destinationCountry: 'Spain',
    since: new Date('2026-01-31T12:00:00.123Z'),
    available: null,
    ...fields,
  }
}

async function csvOf(...pages: RouteRow[][]): Promise<string> {
  async function* taken() {
    yield* pages
  }
  let text = ''
  for await (const part of csvText(taken())) text += part
  return text
}

function cityCells(csv: string): string[] {
  const rows = parse<Record<string, string>>(csv, { columns: true })
  return rows.map(({ departure_city }) => departure_city ?? '')
}

describe('routes as CSV', () => {
  it('the text has a header, a line a route, and empty cells for unknown values', async () => {
    const csv = await csvOf([row()], [row({ departureId: '3', available: true })])

    expect(csv).toBe(
      'departure_id,departure_iata,departure_city,departure_country,' +
        'destination_id,destination_iata,destination_city,destination_country,since,available\n' +
        '1,PMI,Palma,Spain,2,MAD,Madrid,Spain,2026-01-31T12:00:00.123Z,\n' +
        '3,PMI,Palma,Spain,2,MAD,Madrid,Spain,2026-01-31T12:00:00.123Z,true\n',
    )
  })

  it.for([
    ['=1+1'],
    ['+1'],
    ['-1'],
    ['@SUM(A1)'],
    ['\tcmd'],
    ['\rcmd'],
    ['=HYPERLINK("http://example.org","x"), and more'],
  ])('the text %j cannot run as a formula', async ([city = '']) => {
    const csv = await csvOf([row({ departureCity: city })])

    expect(cityCells(csv)).toEqual([`'${city}`])
  })

  it('all other texts stay as they are, including quotes, line ends and other scripts', async () => {
    const cities = ['a "b", c', 'two\nlines', '🛫 مدريد', '1-2', 'a=b', '']
    const csv = await csvOf(cities.map((departureCity) => row({ departureCity })))

    expect(cityCells(csv)).toEqual(cities)
  })
})
