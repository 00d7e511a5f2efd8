import { describe, expect } from 'vitest'
import { createScrub } from '../../src/platform/base/secrets.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import type { Place } from '../../src/upstream/route-list.ts'
import { it } from '../support/test-database.ts'
import { arrivedAt, changes, place, sync } from './sync-fixtures.ts'

async function cityOf(db: Db, id: string): Promise<string[]> {
  const { rows } = await sql<{ city: string }>`
    select city from farewatch.place_history where place_id = ${id} order by valid_from
  `.execute(db)
  return rows.map((row) => row.city)
}

const to = (destination: Place) => ({ departure: place('PMI'), destination })

describe('places', () => {
  it('an edited place records one change once two lists agree, however many routes it has', async ({
    db,
  }) => {
    const old = place('MAD')
    const edited = place('MAD', { city: 'Madrid' })
    const list = [to(edited), { departure: edited, destination: place('BCN') }]
    const first = await sync(db, [to(old), { departure: old, destination: place('BCN') }])

    const pending = await sync(db, list)
    const confirmed = await sync(db, list)

    expect(pending).toMatchObject({ status: 'applied', placesChanged: 0, pendingPlaces: 1 })
    expect(confirmed).toMatchObject({ status: 'applied', placesChanged: 1, pendingPlaces: 0 })
    expect(await changes(db)).toMatchObject([
      {
        seq: 1,
        kind: 'place_changed',
        of: 'MAD',
        before: { iata: 'MAD', city: 'City MAD', country: 'Spain' },
        after: { iata: 'MAD', city: 'Madrid', country: 'Spain' },
        lastSeenAt: await arrivedAt(db, first.runId),
        firstMissedAt: await arrivedAt(db, pending.runId),
        runId: confirmed.runId,
      },
    ])
    expect(await cityOf(db, 'MAD')).toEqual(['City MAD', 'Madrid'])
  })

  it('lists of two versions in turn change no place, and each run counts what is pending', async ({
    db,
  }) => {
    const versions = ['City MAD', 'Madrid'].map((city) => [to(place('MAD', { city }))])
    const outcomes = []
    for (let at = 0; at < 6; at++) outcomes.push(await sync(db, versions[at % 2] ?? []))

    expect(outcomes.map(({ placesChanged }) => placesChanged)).toEqual([0, 0, 0, 0, 0, 0])
    expect(outcomes.map(({ pendingPlaces }) => pendingPlaces)).toEqual([0, 1, 0, 1, 0, 1])
    expect(await changes(db)).toEqual([])
  })

  it('a place with a third version in the second list begins a new count', async ({ db }) => {
    for (const city of ['A', 'B', 'C', 'C']) await sync(db, [to(place('MAD', { city }))])

    expect(await cityOf(db, 'MAD')).toEqual(['A', 'C'])
  })

  it('a known place that a list gives with several attributes keeps the known ones, in any order', async ({
    db,
  }) => {
    const known = place('MAD', { city: 'Zaragoza' })
    const other = place('MAD', { city: 'Avila' })
    await sync(db, [to(known)])

    for (const spellings of [
      [other, known],
      [known, other],
      [other, other, known],
    ]) {
      const outcome = await sync(db, spellings.map(to))
      expect(outcome).toMatchObject({ conflictingPlaces: 1, placesChanged: 0 })
    }
    expect(await cityOf(db, 'MAD')).toEqual(['Zaragoza'])
  })

  it('a new place that a list gives with several attributes takes the smallest ones, in any order', async ({
    db,
  }) => {
    const a = place('MAD', { city: 'Avila' })
    const b = place('MAD', { city: 'Burgos' })
    await sync(db, [to(b), to(a)])
    await sync(db, [to(a), to(b)])

    expect(await cityOf(db, 'MAD')).toEqual(['Avila'])
    expect(await changes(db)).toEqual([])
  })

  it('the name of a place may hold emoji, right-to-left text and markup', async ({ db }) => {
    const city = '🛫 مدريد <b>"x"</b>, =1+1'
    await sync(db, [to(place('MAD', { city }))])

    expect(await cityOf(db, 'MAD')).toEqual([city])
  })

  it('our credential is masked when the upstream sends it in the name of a place', async ({
    db,
  }) => {
    const scrub = createScrub(['CANARY-token-123456'])
    await sync(db, [to(place('MAD', { city: 'see CANARY-token-123456' }))], { scrub })
    const asId = await sync(db, [to(place('CANARY-token-123456'))], { scrub })

    expect(await cityOf(db, 'MAD')).toEqual(['see [redacted]'])
    expect(asId).toMatchObject({
      status: 'rejected',
      reason: { code: 'upstream.contract_violation' },
    })
  })
})
