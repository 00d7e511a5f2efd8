import { describe, expect } from 'vitest'
import { runCommand } from '../support/run-command.ts'
import { it } from '../support/test-database.ts'
import { routes, sync } from './sync-fixtures.ts'

describe('runs diff', { timeout: 60_000 }, () => {
  it('the command refuses to compare runs of two lists, and names the list of each run', async ({
    db,
    databaseUrl,
  }) => {
    const diff = (...runs: number[]) =>
      runCommand(['runs', 'diff', ...runs.map(String)], { DATABASE_URL: databaseUrl })
    const all = await sync(db, routes('PMI-MAD', 'PMI-BCN'))
    const some = await sync(db, routes('PMI-MAD'), { list: 'with-availability' })
    const more = await sync(db, routes('PMI-MAD', 'PMI-BCN'), { list: 'with-availability' })

    const refused = await diff(all.runId, some.runId)

    expect(refused).toMatchObject({ exit: 2, stdout: '' })
    expect(refused.stderr).toContain(
      `run ${all.runId} is of routes and run ${some.runId} of with-availability: only runs of one list can be compared`,
    )
    expect(await diff(some.runId, more.runId)).toMatchObject({
      exit: 0,
      stdout: expect.stringMatching(/^\+ PMI .*BCN/),
    })
    expect((await diff(all.runId, 99)).stderr).toContain('there is no finished run 99')
  })
})
