import { describe, it } from 'vitest'
import { ROUTE_LISTS } from '../../src/platform/base/kinds.ts'
import { sql } from '../../src/platform/db/database.ts'
import { hasRedisServer } from '../support/redis-tier.ts'
import { eventually } from './eventually.ts'
import { expectInvariants } from './invariants.ts'
import { addressesOf, checksOf, watch } from './steps.ts'
import { openWorld, type World } from './world.ts'

interface Case {
  readonly store: 'PostgreSQL' | 'Redis'
  readonly withinMs: number
  readonly proxyOf: (world: World) => { halfOpen(): void } | undefined
}

const CASES: readonly Case[] = [
  // A statement may take a minute. Only after that is a missing answer an error.
  { store: 'PostgreSQL', withinMs: 90_000, proxyOf: (world) => world.postgresProxy },
  // A job without a lock renewal goes to another worker when the lock expires.
  { store: 'Redis', withinMs: 60_000, proxyOf: (world) => world.redis?.proxy },
]
const OUTAGE_ERRORS = /Query read timeout|onnection terminated|queue\.unavailable|no answer within/

/** The fault must not interrupt a sync: a large list may take minutes until its next attempt. */
async function hasBaselines({ db }: World): Promise<boolean> {
  const { rows } = await sql<{ list: string }>`
    select list from sync_run where status = 'applied'
  `.execute(db)
  return rows.length === ROUTE_LISTS.length
}

// The cases run together because each waits up to 90 s for a timeout.
describe.runIf(hasRedisServer())('half-open connections', { concurrent: true }, () => {
  it.for(CASES)(
    'to $store are found by the worker, which continues on new ones',
    { timeout: 140_000 },
    async ({ withinMs, proxyOf }, { expect, onTestFinished }) => {
      const world = await openWorld('redis')
      onTestFinished(() => world.close())
      world.upstream.sell(['901', '902'])
      await watch(world, ['901'])
      await addressesOf(world.start('worker'))
      await eventually('a check', async () => (await checksOf(world, ['901'])) === 1, 40_000)
      await eventually('both baselines', () => hasBaselines(world))

      proxyOf(world)?.halfOpen()
      await watch(world, ['902'])

      await eventually(
        'another check',
        async () => (await checksOf(world, ['902'])) === 1,
        withinMs,
      )
      expect(world.running()).toHaveLength(1)
      await expectInvariants(world, { failures: [OUTAGE_ERRORS], withinMs: 30_000 })
    },
  )
})
