import { Type } from 'typebox'
import { describe, expect } from 'vitest'
import { endWatches } from '../../src/fares/end/end-watches.ts'
import { sql } from '../../src/platform/db/database.ts'
import { cursorsOf } from '../../src/platform/http/pages.ts'
import type { LegObservation } from '../../src/upstream/observation.ts'
import { available, gone, record } from '../fares/fare-fixtures.ts'
import { updateNow } from '../schedule/schedule-fixtures.ts'
import { bearer } from '../support/api-server.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { ago, fareOf, listWith, watch } from './reseller-calls.ts'
import { beginAt, bytesOf, inBoth, twoWorlds, type World, type Worlds } from './two-worlds.ts'

/** Uncompressed, because another id changes the compressed length. */
function plain({ own }: World, path: string) {
  return own.get(path, { headers: { ...bearer(own.key), 'accept-encoding': 'identity' } })
}

/** Everything that a reseller sees of its watch, its list and its feed. */
async function seen(world: World, worlds: Worlds): Promise<unknown[]> {
  const paths = [
    ...['', '/timeline', '/prices'].map((place) => `/watch-lists/summer/watches/A-1${place}`),
    '/watch-lists/summer/state',
    '/watch-changes?after=0',
    '/status',
  ]
  const answers = await Promise.all(paths.map((path) => plain(world, path)))
  return answers.map((answer) => bytesOf(answer, worlds))
}

async function checkBoth(worlds: Worlds, minutes: number, answer: LegObservation): Promise<void> {
  await inBoth(worlds, async ({ db }) => {
    await record(db, await fareOf(db, '101'), ago(minutes), answer)
  })
}

/**
 * In the shared world, the other reseller watches a fare and the answers are recorded. Then the reseller watches that fare
 * in both worlds, since half an hour ago.
 */
async function begin(
  known: readonly LegObservation[],
  question: Record<string, unknown> = {},
): Promise<Worlds> {
  const worlds = await twoWorlds()
  const { db, other } = worlds.together
  if (other === undefined) throw new Error('there is no other')
  await listWith(other, 'winter', [watch('B-1', question)])
  await beginAt(worlds.together, other, ago(50))
  for (const [i, answer] of known.entries()) {
    await record(db, await fareOf(db, '101'), ago(48 - i), answer)
  }
  await inBoth(worlds, async (world) => {
    await listWith(world.own, 'summer', [watch('A-1', question)])
    await beginAt(world, world.own, ago(30))
  })
  return worlds
}

async function expectAlike(worlds: Worlds, when: string): Promise<void> {
  expect(await seen(worlds.together, worlds), when).toEqual(await seen(worlds.alone, worlds))
}

async function kindsOf({ own }: World): Promise<unknown> {
  const { body } = await own.get('/watch-changes?after=0')
  return (body.items as { kind: string }[]).map(({ kind }) => kind)
}

const LOST = [available(), gone, gone]

describe('a watch of a fare that another reseller watched before', () => {
  it('the watch ends after 30 days without being available, though the fare was before it began', async () => {
    const worlds = await begin(LOST)
    await checkBoth(worlds, 25, gone)
    await checkBoth(worlds, 24, gone)
    await inBoth(worlds, async (world) => {
      await beginAt(world, world.own, ago(31 * 24 * 60))
      await sql`
        update fare_belief_version set valid_from = valid_from - interval '40 days', valid_to = valid_to - interval '40 days'
         where pair = 'bookable'
      `.execute(world.db)
      await endWatches({ db: world.db, log: silentLog })
    })

    expect(await kindsOf(worlds.together)).toEqual(['watch_started', 'expired'])
    expect(await kindsOf(worlds.alone)).toEqual(['watch_started', 'expired'])
  })

  it('the watch goes on where the fare was available since it began and is lost now', async () => {
    const worlds = await begin(LOST)
    await checkBoth(worlds, 25, available())
    // More than ten minutes later, so it is no return of a moment.
    for (const minutes of [14, 13]) await checkBoth(worlds, minutes, gone)
    await inBoth(worlds, async (world) => {
      await beginAt(world, world.own, ago(31 * 24 * 60))
      await endWatches({ db: world.db, log: silentLog })
    })

    expect(await kindsOf(worlds.together)).toEqual([
      'watch_started',
      'became_available',
      'became_unavailable',
    ])
    expect(await kindsOf(worlds.alone)).toEqual(['watch_started', 'became_unavailable'])
  })

  it('the watch is stale by what its own reseller spends on the fare, not by what the other does', async () => {
    const worlds = await begin([], { minIntervalSeconds: 1 })
    await inBoth(worlds, async (world) => {
      await listWith(world.own, 'summer', [watch('A-1', { minIntervalSeconds: 86_400 })])
      await beginAt(world, world.own, ago(180))
      await record(world.db, await fareOf(world.db, '101'), ago(170), available())
      await updateNow(world.db, { requestsPerSecond: 1, minRecheckSeconds: 1 })
    })

    await expectAlike(worlds, 'after three hours')
    const { body } = await plain(worlds.together, '/status')
    expect(body).toMatchObject({ beliefs: { fares: 1, unanswered: 0, stale: 0 } })
  })

  it('a forged cursor does not reveal when the first interval of a timeline began', async () => {
    const worlds = await begin([available()])
    await checkBoth(worlds, 25, available())
    await checkBoth(worlds, 20, available('90.00'))
    const path = '/watch-lists/summer/watches/A-1'
    const { body } = await plain(worlds.together, path)
    const { next } = cursorsOf('watch-timeline', Type.Integer()).page([0, 0], {
      limit: 1,
      bound: body.watchId,
      positionOf: () => ago(40).getTime(),
    })

    const answer = (world: World) => plain(world, `${path}/timeline?cursor=${next}`)

    expect((await answer(worlds.together)).body).toEqual({ items: [], next: null })
    expect(bytesOf(await answer(worlds.together), worlds)).toEqual(
      bytesOf(await answer(worlds.alone), worlds),
    )
    const page = (world: World) => plain(world, `${path}/timeline?limit=1`)
    const last = await page(worlds.together)
    expect(last.body.next).toEqual(expect.any(String))
    expect(bytesOf(last, worlds)).toEqual(bytesOf(await page(worlds.alone), worlds))
  })
})
