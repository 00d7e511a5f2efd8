import { describe, expect, onTestFinished } from 'vitest'
import { GUARD_LIMITS } from '../../src/routes/guard.ts'
import type { SyncOutcome } from '../../src/routes/runs.ts'
import { syncList } from '../../src/routes/sync.ts'
import { availability, livePairs, noScrub, outcomeOf } from '../routes/sync-fixtures.ts'
import { it } from '../support/test-database.ts'
import { clientOf } from '../upstream/client-fixture.ts'
import { type Json, ok } from './answers.ts'
import { startHostileUpstream } from './hostile-upstream.ts'
import { place, route } from './list-answers.ts'

type Ends = readonly [departure: Json, destination: Json]
const CODES = ['PMI', 'MAD', 'BCN', 'LHR', 'CDG', 'FRA', 'AMS', 'FCO', 'VIE', 'ZRH', 'LIS']
const PLACES = CODES.map((iata, at) => place(String(at + 1), { iata, city: `City of ${iata}` }))
/** All 110 pairs of eleven places. */
const ENDS: readonly Ends[] = PLACES.flatMap((from) =>
  PLACES.filter((to) => to !== from).map((to): Ends => [from, to]),
)
const listOf = (ends: readonly Ends[]) => ends.map(([from, to]) => route(from, to))
const ALL = listOf(ENDS)

/** The list with each place replaced. */
const with_ = (change: (place: Json) => Json) =>
  listOf(ENDS.map(([from, to]): Ends => [change(from), change(to)]))

/** Lists that mean the same routes. */
const SAME: Readonly<Record<string, unknown>> = {
  'the same list': ALL,
  'the same list in another order': ALL.toReversed(),
  'every route twice': [...ALL, ...ALL],
  'every route three times, in turn': ALL.flatMap((one) => [one, one, one]),
  'fields that the interface does not name': ALL.map((one) => ({ ...one, seen: true })),
  'ids as numbers': with_(({ id, ...attributes }) => ({ ...attributes, id: Number(id) })),
  'every place with its own and another city': [
    ...ALL,
    ...with_((one) => ({ ...one, city: 'ZZ' })),
  ],
  'nine routes fewer, which are only absent once': ALL.slice(9),
  'a seventh fewer, which are only absent once': ALL.slice(16),
}

/** Accidents, by the rule of the guard that holds them. */
const HELD: Readonly<Record<string, readonly [reason: string, list: unknown]>> = {
  'no routes': ['empty', []],
  'one route': ['mass_absence', ALL.slice(0, 1)],
  'half a list': ['mass_absence', ALL.slice(0, 55)],
  'every second route': ['mass_absence', ALL.filter((_, at) => at % 2 === 0)],
  'a sixth fewer': ['mass_absence', ALL.slice(19)],
  'one direction alone': [
    'mass_absence',
    listOf(ENDS.filter(([from, to]) => Number(from.id) < Number(to.id))),
  ],
  'half a list, in which the rest is repeated': [
    'mass_absence',
    [...ALL.slice(0, 55), ...ALL.slice(0, 55)],
  ],
  'renumbered ids': [
    'mass_absence',
    with_((one) => ({ ...one, id: String(Number(one.id) + 1000) })),
  ],
  'codes instead of ids': ['mass_absence', with_((one) => ({ ...one, id: one.iata }))],
  'ids with white space': ['mass_absence', with_((one) => ({ ...one, id: ` ${one.id}` }))],
  'ids with a leading zero': ['mass_absence', with_((one) => ({ ...one, id: `0${one.id}` }))],
  'one id for all places': ['mass_absence', with_((one) => ({ ...one, id: '1', city: 'X' }))],
  'another system’s list': ['mass_absence', [route(place('t1'), place('t2'))]],
  'two systems’ lists in one': [
    'mass_addition',
    [
      ...ALL,
      ...with_((one) => ({ ...one, id: `a${one.id}` })),
      ...with_((one) => ({ ...one, id: `b${one.id}` })),
    ],
  ],
  'cities in another language': [
    'mass_place_change',
    with_((one) => ({ ...one, city: `Stadt ${one.iata}` })),
  ],
  'a seventh of the rows with ids with a leading zero': [
    'places_renumbered',
    [...with_((one) => ({ ...one, id: `0${one.id}` })).slice(0, 16), ...ALL.slice(16)],
  ],
  'no attributes of places': ['mass_place_change', with_(({ id }) => ({ id }))],
  'columns that moved by one': [
    'mass_place_change',
    with_(({ id, iata, city, country }) => ({ id, iata: city, city: country, country: iata })),
  ],
}

const OTHER = [route(place('t1'), place('t2'))]

/** The same for the list of routes with availability. */
const SAME_AVAILABLE: Readonly<Record<string, unknown>> = {
  'the same list': ALL,
  'another order, each route twice': [...ALL, ...ALL.toReversed()],
  'routes that the other list lacks': [...ALL, ...OTHER],
  'other attributes of places': with_((one) => ({ ...one, city: 'ZZ', iata: '' })),
  'an availability that the interface does not name': ALL.map((one) => ({
    ...one,
    available: false,
  })),
  'nine routes fewer, which are only absent once': ALL.slice(9),
}
const HELD_AVAILABLE: Readonly<Record<string, readonly [reason: string, list: unknown]>> = {
  'no routes': ['empty', []],
  'only routes that the other list lacks': ['empty', OTHER],
  'renumbered ids': ['empty', with_((one) => ({ ...one, id: `9${one.id}` }))],
  'half a list': ['mass_absence', ALL.slice(0, 55)],
  'a sixth fewer': ['mass_absence', ALL.slice(19)],
}

type Deps = Parameters<typeof syncList>[0]

/** Syncs each list, and then the good one. */
async function outcomesOf(
  sync: (list: unknown) => Promise<SyncOutcome>,
  lists: readonly (readonly [name: string, list: unknown])[],
): Promise<Record<string, unknown>> {
  const outcomes: Record<string, unknown> = {}
  for (const [name, list] of lists) {
    const { status, reason, added, removed, placesChanged, gained, lost } = await sync(list)
    const changes = [added, removed, placesChanged, gained, lost].reduce<number>(
      (sum, count) => sum + (count ?? 0),
      0,
    )
    outcomes[name] = status === 'held' ? ['held', reason?.code] : ['accepted', changes]
    if (status !== 'held') await sync(ALL)
  }
  return outcomes
}

const KINDS = [
  { list: 'routes', held: HELD, same: SAME },
  { list: 'with-availability', held: HELD_AVAILABLE, same: SAME_AVAILABLE },
] as const

// Fault: Contradictory lists: decided the same way every time, and counted; a list with over 16 spellings of a place, or over
// 100,000 places, is rejected.
// Fault: Implausible lists: held whole for an operator.
describe('the contents of a list of an upstream that was written from the interface alone', () => {
  it.for(KINDS)(
    // Fault: A list is one of 23 accidents, or is cut, or alternates with another version.
    'are applied to $list only if they mean a plausible change, and no accident changes anything',
    async ({ list, held, same }, { db }) => {
      await using upstream = await startHostileUpstream(ok(ALL))
      const { client } = clientOf(upstream.url)
      onTestFinished(() => client.close())
      const guard = { ...GUARD_LIMITS, growthFrom: 100 }
      const deps: Deps = { db, upstream: client, confirmations: 2, guard, scrub: noScrub }
      const sync = async (sent: unknown, to: typeof list = list) => {
        upstream.answerWith(ok(sent))
        return outcomeOf(await syncList(deps, { list: to }, new AbortController().signal))
      }
      await sync(ALL, 'routes')
      await sync(ALL)
      const before = [await livePairs(db), await availability(db)]

      const accidents = Object.entries(held).map(([name, [, sent]]) => [name, sent] as const)
      const outcomes = {
        ...(await outcomesOf(sync, accidents)),
        ...(await outcomesOf(sync, Object.entries(same))),
      }

      expect(outcomes).toEqual({
        ...Object.fromEntries(Object.entries(held).map(([name, [code]]) => [name, ['held', code]])),
        ...Object.fromEntries(Object.keys(same).map((name) => [name, ['accepted', 0]])),
      })
      expect(before[0]).toHaveLength(110)
      expect([await livePairs(db), await availability(db)]).toEqual(before)
    },
  )
})
