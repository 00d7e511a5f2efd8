import { describe, expect } from 'vitest'
import { manyRoutes, routes, sync } from '../routes/sync-fixtures.ts'
import { bearer, newKeyText, startApi } from '../support/api-server.ts'
import { runCommand } from '../support/run-command.ts'
import { it } from '../support/test-database.ts'
import { aWorld, inWorld } from './operator-fixtures.ts'

describe('routes export', () => {
  it('is refused before the first list, and writes the last one for a later instant', async ({
    db,
    databaseUrl,
  }) => {
    const farewatch = inWorld(await aWorld(databaseUrl, 'postgres'))
    const none = await farewatch('routes export')
    await sync(db, manyRoutes(3))

    const now = await farewatch('routes export')
    const early = await farewatch('routes export --as-of 1990-01-01')
    const late = await farewatch('routes export --as-of 2999-01-01T00:00:00Z')

    expect(none).toMatchObject({ exit: 1, stdout: '' })
    expect(none.stderr).toMatch(/^farewatch: .*list/)
    expect(now).toMatchObject({ exit: 0, stderr: '' })
    expect(now.stdout.trimEnd().split('\n')).toHaveLength(4)
    expect(early).toMatchObject({ exit: 1, stdout: '' })
    expect(early.stderr).toContain('no list had been accepted by then')
    expect(late).toEqual(now)
  })

  it('writes the answer of the API that runs, of either list in either format', async ({ db }) => {
    const env = { FAREWATCH_URL: await startApi(db), FAREWATCH_KEY: await newKeyText(db) }
    await sync(db, routes('PMI-MAD', 'PMI-BCN'))
    await sync(db, routes('PMI-BCN'), { list: 'with-availability' })
    const available = ['--list', 'with-availability']

    for (const [path = '', ...args] of [
      ['/csv'],
      ['', '--format', 'json'],
      ['/with-availability', '--format', 'json', ...available],
    ]) {
      const url = `${env.FAREWATCH_URL}/api/v1/data/routes${path}`
      const response = await fetch(url, { headers: bearer(env.FAREWATCH_KEY) })
      const { stdout } = await runCommand(['routes', 'export', ...args], env)
      expect(stdout).toBe(await response.text())
    }
    const csv = await runCommand(['routes', 'export', ...available], env)
    expect(csv.stdout).toMatch(/^departure_id,.*\nPMI,.*,BCN,.*,true\n$/)
  })
})
