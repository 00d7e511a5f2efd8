import { Type } from 'typebox'
import { describe, expect } from 'vitest'
import { sql } from '../../src/db/database.ts'
import { cursorsOf } from '../../src/http/pages.ts'
import { endWatches } from '../../src/verify/end-watches-job.ts'
import { bearer } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'
import { available, gone, record, silent } from '../verify/fare-fixtures.ts'
import { ago, fareOf, listWith, watch } from './reseller-calls.ts'
import { bytesOf, inBoth, settle, twoWorlds, type World, type Worlds } from './two-worlds.ts'

type Answers = readonly [Parameters<typeof record>[3], Parameters<typeof record>[3]?]

const PAIR = { flightId: '102', returnFlightId: '202' }

/** Compressed, another id is another length. */
function plain({ own }: World, path: string) {
  return own.get(path, { headers: { ...bearer(own.key), 'accept-encoding': 'identity' } })
}

/** All that a reseller sees of its watch, its list and its feed. */
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

async function checkBoth(worlds: Worlds, minutes: number, answers: Answers): Promise<void> {
  await inBoth(worlds, async ({ db }) => {
    const fare = await fareOf(db, answers.length > 1 ? '102' : '101')
    await record(db, fare, ago(minutes), ...answers)
  })
}

/** The other's watch and what it learned; then the reseller's, which began half an hour ago, in both worlds. */
async function begin(
  known: readonly Answers[],
  question: Record<string, unknown> = {},
): Promise<Worlds> {
  const worlds = await twoWorlds()
  const { db, other } = worlds.together
  if (other === undefined) throw new Error('there is no other')
  await listWith(other, 'winter', [watch('B-1', question)])
  await settle(worlds.together, other, ago(50))
  for (const [i, answers] of known.entries()) {
    const fare = await fareOf(db, answers.length > 1 ? '102' : '101')
    await record(db, fare, ago(48 - i), ...answers)
  }
  await inBoth(worlds, async (world) => {
    await listWith(world.own, 'summer', [watch('A-1', question)])
    await settle(world, world.own, ago(30))
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

const another = available('300.00', { identity: 'VY|1|PMI-BCN|2027-01-10' })
const LOST: readonly Answers[] = [[available()], [gone], [gone]]

describe('a watch that begins where another one learned something', () => {
  it.each<[string, readonly Answers[], readonly Answers[], Record<string, unknown>]>([
    ['gone again, and again', LOST, [[gone], [gone], [gone]], {}],
    ['silent, and gone', LOST, [[silent], [gone], [silent], [gone]], {}],
    ['gone, and back', LOST, [[gone], [available('90.00')], [gone], [gone]], {}],
    ['never there, and gone', [[gone], [gone]], [[gone], [gone], [available()]], {}],
    ['half confirmed, and gone', [[available()], [gone]], [[gone], [gone], [available()]], {}],
    ['there, and gone', [[available()]], [[gone], [gone], [gone]], {}],
    [
      'one leg gone',
      [
        [available(), available()],
        [gone, available()],
        [gone, available()],
      ],
      [
        [gone, available()],
        [gone, available('80.00')],
        [available(), available('80.00')],
      ],
      PAIR,
    ],
    [
      'one leg silent',
      [
        [available(), gone],
        [available(), gone],
      ],
      [
        [available(), silent],
        [silent, gone],
        [available('70.00'), gone],
        [silent, silent],
      ],
      PAIR,
    ],
  ])('is told at each answer what it would be alone: %s', async (_, known, answers, question) => {
    const worlds = await begin(known, question)
    await expectAlike(worlds, 'before')
    for (const [i, answer] of answers.entries()) {
      await checkBoth(worlds, 25 - i, answer)
      await expectAlike(worlds, `after answer ${i + 1}`)
    }
    expect(await kindsOf(worlds.together)).not.toEqual([])
  })

  it('is told of a flight that comes back as another one what it would be alone', async () => {
    const worlds = await begin(LOST)
    const feed = async (world: World) => bytesOf(await plain(world, '/watch-changes'), worlds)

    for (const [i, answer] of [gone, another, another, gone, gone].entries()) {
      await checkBoth(worlds, 25 - i, [answer])
      expect(await feed(worlds.together)).toEqual(await feed(worlds.alone))
    }

    expect(await kindsOf(worlds.together)).toEqual(['became_available', 'became_unavailable'])
  })

  it('makes the other one wait for no second look of its own', async () => {
    const worlds = await begin(LOST)
    const { db, other } = worlds.together

    await record(db, await fareOf(db, '101'), ago(25), gone)

    const { rows } = await sql`select lane from fare_schedule`.execute(db)
    expect(rows).toEqual([{ lane: 'confirmation' }])
    const own = await plain(worlds.together, '/watch-lists/summer/watches/A-1')
    expect(own.body).toMatchObject({ status: 'new', next: { why: 'confirmation' } })
    const theirs = await other?.get('/watch-lists/winter/watches/B-1')
    expect(theirs?.body).toMatchObject({ status: 'followed', next: { why: 'turn' } })
  })

  it('ends after thirty days in which it was not available, whatever others saw before', async () => {
    const worlds = await begin(LOST)
    await checkBoth(worlds, 25, [gone])
    await checkBoth(worlds, 24, [gone])
    await inBoth(worlds, async (world) => {
      await settle(world, world.own, ago(31 * 24 * 60))
      await endWatches(world.db)
    })

    expect(await kindsOf(worlds.together)).toEqual(['legs_changed', 'expired'])
    expect(await kindsOf(worlds.together)).toEqual(await kindsOf(worlds.alone))
  })

  it('does not end where it was available since it began, and is lost by now', async () => {
    const worlds = await begin(LOST)
    for (const [i, answer] of [available(), gone, gone].entries()) {
      await checkBoth(worlds, 25 - i, [answer])
    }
    await inBoth(worlds, async (world) => {
      await settle(world, world.own, ago(31 * 24 * 60))
      await endWatches(world.db)
    })

    expect(await kindsOf(worlds.together)).toEqual(['became_available', 'became_unavailable'])
    expect(await kindsOf(worlds.alone)).toEqual(await kindsOf(worlds.together))
  })

  it('is stale by its own interval, not by the other’s', async () => {
    const worlds = await begin([], { minIntervalSeconds: 1 })
    await inBoth(worlds, async (world) => {
      await listWith(world.own, 'summer', [watch('A-1', { minIntervalSeconds: 86_400 })])
      await settle(world, world.own, ago(180))
      await record(world.db, await fareOf(world.db, '101'), ago(170), available())
    })

    await expectAlike(worlds, 'after three hours')
    const { body } = await plain(worlds.together, '/status')
    expect(body).toMatchObject({ beliefs: { fares: 1, unanswered: 0, stale: 0 } })
  })

  it('shows by a made-up cursor no more of when its first interval began', async () => {
    const worlds = await begin([[available()]])
    await checkBoth(worlds, 25, [available()])
    await checkBoth(worlds, 20, [available('90.00')])
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
