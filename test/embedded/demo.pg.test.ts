import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { describe, expect, onTestFinished } from 'vitest'
import { withStory } from '../../sandbox/world/story.ts'
import { createWorld } from '../../sandbox/world/world.ts'
import { ensureDemoReseller, openDemoWorld, seedDemoWatches } from '../../src/embedded/demo.ts'
import type { Db } from '../../src/platform/db/database.ts'
import { deleteWatches } from '../../src/watches/change-watches.ts'
import { importWatchList } from '../../src/watches/import/import-watch-list.ts'
import { rowsOf } from '../../src/watches/rows/watch-row.ts'
import { listWatches } from '../../src/watches/watch-lists.ts'
import { later, manualClock, START } from '../sandbox/support.ts'
import { it } from '../support/test-database.ts'

async function temporaryHome(): Promise<string> {
  const home = await mkdtemp(path.join(os.tmpdir(), 'farewatch-demo-'))
  onTestFinished(() => rm(home, { recursive: true, force: true }))
  return home
}

describe('the world of a home', () => {
  it('stops with its process and goes on from there, also after a long time', async () => {
    const home = await temporaryHome()
    const clock = manualClock(START)
    const first = await openDemoWorld(home, clock)
    expect(first).toMatchObject({ speed: 60, worldStart: START, storyAt: START })
    clock.advance(120_000)
    await first.stop()

    clock.advance(3_600_000)
    const second = await openDemoWorld(home, clock)
    onTestFinished(() => second.stop())

    expect(second).toMatchObject({ worldStart: later(2 / 24), storyAt: START })
  })

  it.for([
    ['without times', '{"storyAt":"never"}'],
    ['that says nothing', 'null'],
    ['that a crash has cut', '{"seed":1,'],
  ] as const)('begins again with a file %s', async ([, text]) => {
    const home = await temporaryHome()
    await writeFile(path.join(home, 'sandbox.json'), text)

    const world = await openDemoWorld(home, manualClock(START))
    onTestFinished(() => world.stop())

    expect(world).toMatchObject({ worldStart: START, storyAt: START })
  })
})

const world = withStory(createWorld({ seed: 1 }), START)

async function watched(db: Db): Promise<Map<string, string>> {
  const { id } = await ensureDemoReseller(db)
  const watches = await listWatches(db, id, { list: 'demo', limit: 100 })
  return new Map(watches.map(({ entry }) => [entry.reference, entry.question?.flightId ?? '']))
}

describe('the watches of the demo', () => {
  it('are the flights of the story and quiet ones, some with a return or for residents, and a second start changes none', async ({
    db,
  }) => {
    expect(await seedDemoWatches(db, world, START)).toBe(40)
    const first = await watched(db)
    const { id } = await ensureDemoReseller(db)
    const questions = (await listWatches(db, id, { limit: 100 })).map(({ entry }) => entry.question)
    expect(questions.filter((question) => question?.returnFlightId).length).toBeGreaterThan(2)
    expect(
      questions.filter((question) => question?.passengers.residents.adults).length,
    ).toBeGreaterThan(2)
    expect([...first.values()]).toEqual(
      expect.arrayContaining([...(world.story?.flights.keys() ?? [])]),
    )

    expect(await seedDemoWatches(db, world, later(10))).toBe(40)

    expect(await watched(db)).toEqual(first)
  })

  it('are replaced once their flight has departed in the world, unless they were edited or deleted', async ({
    db,
  }) => {
    await seedDemoWatches(db, world, START)
    const { id: resellerId } = await ensureDemoReseller(db)
    const [edited = '', limited = '', deleted = '', ...others] = [...(await watched(db)).keys()]
    const row = { list: 'demo', residents_adults: '0', non_residents_adults: '1' }
    const rows = [
      { ...row, reference: edited, flight_id: others[0]?.replace('demo-', '') ?? '' },
      { ...row, reference: limited, flight_id: limited.replace('demo-', ''), priority: 'urgent' },
      { ...row, reference: 'own', flight_id: limited.replace('demo-', '') },
    ]
    await importWatchList(db, { resellerId, source: rowsOf('a test', rows) })
    await deleteWatches(db, { resellerId, list: 'demo', references: [deleted] })

    expect(await seedDemoWatches(db, world, later(60))).toBe(40)

    const after = await watched(db)
    expect([...after.keys()]).toEqual(expect.arrayContaining([edited, limited, 'own']))
    expect(after.has(deleted)).toBe(false)
    expect(others.filter((reference) => after.has(reference))).toEqual([])
  })
})
