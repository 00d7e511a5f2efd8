import { describe, it } from 'vitest'
import { ROUTE_LISTS } from '../../src/base/kinds.ts'
import { sql } from '../../src/db/database.ts'
import { hasRedisServer } from '../support/redis-tier.ts'
import { eventually } from './eventually.ts'
import { expectInvariants } from './invariants.ts'
import { addressesOf, checksOf, watch } from './steps.ts'
import { openWorld, type World } from './world.ts'

interface Case {
  readonly store: 'PostgreSQL' | 'Redis'
  readonly withinMs: number
  readonly doorOf: (world: World) => { halfOpen(): void } | undefined
}

const CASES: readonly Case[] = [
  // A statement may take a minute: only after that silence can be told from work.
  { store: 'PostgreSQL', withinMs: 90_000, doorOf: (world) => world.postgresDoor },
  // A worker without a sign of life is replaced after the time of a lock.
  { store: 'Redis', withinMs: 60_000, doorOf: (world) => world.redis?.door },
]
const AWAY = /Query read timeout|onnection terminated|queue\.unavailable|no answer within/

/** A list that is under way is waited for as long as a large one may take. */
async function hasBaselines({ db }: World): Promise<boolean> {
  const { rows } = await sql<{ list: string }>`
    select list from sync_run where status = 'applied'
  `.execute(db)
  return rows.length === ROUTE_LISTS.length
}

// Each waits long for what does not come: they wait together.
describe.runIf(hasRedisServer())(
  'a store whose connections are half open',
  { concurrent: true },
  () => {
    it.for(CASES)(
      '$store: the worker finds out by itself, and goes on over new ones',
      { timeout: 140_000 },
      async ({ withinMs, doorOf }, { expect, onTestFinished }) => {
        const world = await openWorld('redis')
        onTestFinished(() => world.close())
        world.upstream.sell(['901', '902'])
        await watch(world, ['901'])
        await addressesOf(world.start('worker'))
        await eventually('a check', async () => (await checksOf(world, ['901'])) === 1, 40_000)
        await eventually('both baselines', () => hasBaselines(world))

        doorOf(world)?.halfOpen()
        await watch(world, ['902'])

        await eventually(
          'another check',
          async () => (await checksOf(world, ['902'])) === 1,
          withinMs,
        )
        expect(world.living()).toHaveLength(1)
        await expectInvariants(world, { failures: [AWAY], withinMs: 30_000 })
      },
    )
  },
)
