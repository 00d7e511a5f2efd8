import { describe, expect } from 'vitest'
import { runFarewatch, startInTest } from '../support/child-process.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { blockTable, sessionsOf, untilStatement } from './crash-tools.ts'
import { runOf } from './held-fixtures.ts'
import { changes, livePairs, manyRoutes, sync } from './sync-fixtures.ts'

const ROLE = 'runs approve'

describe('killing a process that approves a run', () => {
  it.for([
    {
      point: 'before the comparison',
      table: 'route_version',
      mode: 'access exclusive',
      at: 'snapshot_difference',
    },
    {
      point: 'in the middle of applying',
      table: 'place_version',
      mode: 'share',
      at: 'place_version',
    },
    { point: 'just before the commit', table: 'feed_head', mode: 'share', at: 'feed_head' },
  ] as const)(
    'a kill $point leaves the run held and nothing changed, and the next approval applies the whole list',
    { timeout: 60_000 },
    async ({ table, mode, at }, { db, databaseUrl }) => {
      await sync(db, manyRoutes(40))
      const { runId } = await sync(db, manyRoutes(20))
      const command = ['runs', 'approve', String(runId), '--database']
      const release = await blockTable(databaseUrl, `farewatch_private.${table}`, mode)

      const approving = startInTest(command, { DATABASE_URL: databaseUrl })
      await untilStatement(db, { role: ROLE, text: at })
      approving.child.kill('SIGKILL')
      expect(await approving.ended).toBe('SIGKILL')
      await until('its sessions have ended', async () => (await sessionsOf(db, ROLE)).length === 0)
      await release()

      expect(await runOf(db, runId)).toMatchObject({ status: 'held', resolution: null })
      expect(await livePairs(db)).toHaveLength(40)
      expect(await changes(db)).toEqual([])

      const again = await runFarewatch(command, { DATABASE_URL: databaseUrl })
      expect(again).toMatchObject({
        exit: 0,
        stdout: 'routes approved: 0 added, 20 removed, 20 live\n',
      })
      expect(await livePairs(db)).toHaveLength(20)
      expect((await changes(db)).map((change) => change.seq)).toEqual(
        Array.from({ length: 20 }, (_, i) => i + 1),
      )
    },
  )
})
