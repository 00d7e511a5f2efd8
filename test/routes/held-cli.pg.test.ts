import { describe, expect, onTestFinished } from 'vitest'
import { timeText } from '../../src/cli/text/text-format.ts'
import { startListServer } from '../support/list-server.ts'
import { runCommand } from '../support/run-command.ts'
import { it } from '../support/test-database.ts'
import { fetchedAt, manyRoutes, sync } from './sync-fixtures.ts'

describe('the commands about held runs', { timeout: 60_000 }, () => {
  it('the commands list, explain, show, compare and reject held runs', async ({
    db,
    databaseUrl,
  }) => {
    const fw = (...args: string[]) => runCommand(['runs', ...args], { DATABASE_URL: databaseUrl })
    expect(await fw('review')).toMatchObject({ exit: 0, stdout: 'nothing is held\n' })
    const { runId: first } = await sync(db, manyRoutes(40))
    const { runId } = await sync(db, manyRoutes(20))
    const id = String(runId)
    const at = timeText(await fetchedAt(db, runId))

    expect((await fw('review')).stdout).toBe(
      `run ${id}  routes  ${at}  20 of 40 routes are missing at once (50.0 %, limit 15.0 %); it would add 0, remove 20\n`,
    )
    expect(JSON.parse((await fw('review', id, '--json')).stdout)).toMatchObject({
      run: { runId, reason: { code: 'mass_absence' } },
      plan: { missing: 20, forecast: { removed: 20, live: 20 } },
    })
    expect((await fw('show', id)).stdout).toMatch(/^run id .*\nlist +routes\nstatus +held\n/)
    const lines = (await fw('diff', String(first), id)).stdout.trimEnd().split('\n')
    expect(lines).toHaveLength(20)
    expect(lines[0]).toBe('- HUB City HUB → D20 City D20')

    expect(await fw('reject', id)).toMatchObject({
      exit: 0,
      stdout: `dropped run ${id}; nothing else changed\n`,
    })
    expect(await fw('approve', id)).toMatchObject({ exit: 1, stdout: '' })
    expect(await fw('review', '0')).toMatchObject({ exit: 2 })
  })

  it('a dry run prints its plan, and its exit code reports whether the list would be held', async ({
    db,
    databaseUrl,
  }) => {
    await sync(db, manyRoutes(40))
    const upstream = await startListServer()
    onTestFinished(() => upstream.close())
    const env = { DATABASE_URL: databaseUrl, UPSTREAM_BASE_URL: upstream.url }
    const dryRun = () => runCommand(['sync', '--list', 'routes', '--dry-run'], env)

    upstream.serve({ routes: manyRoutes(41) })
    expect(await dryRun()).toMatchObject({
      exit: 0,
      stdout: expect.stringContaining('it would add 1, remove 0, change no places (41 live after)'),
    })
    upstream.serve({ routes: manyRoutes(20) })
    expect(await dryRun()).toMatchObject({
      exit: 3,
      stdout: expect.stringMatching(
        /^routes would be held: 20 of 40[\s\S]*it would add 0, remove 20.* \(20 live after\)\n$/,
      ),
    })
    expect(upstream.requests).toHaveLength(2)
  })
})
