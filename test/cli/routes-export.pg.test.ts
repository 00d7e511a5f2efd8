import { describe, expect } from 'vitest'
import { manyRoutes, sync } from '../routes/sync-fixtures.ts'
import { it } from '../support/test-database.ts'
import { aWorld, inWorld } from './operator-fixtures.ts'

const LATER = 'exported as of the last accepted list: nothing later is known'

describe('routes export', () => {
  it('warns on standard error if the routes are not those of the requested instant', async ({
    db,
    databaseUrl,
  }) => {
    const farewatch = inWorld(await aWorld(databaseUrl, 'postgres'))
    const none = await farewatch('routes', 'export')
    await sync(db, manyRoutes(3))

    const now = await farewatch('routes', 'export')
    const early = await farewatch('routes', 'export', '--as-of', '1990-01-01')
    const late = await farewatch('routes', 'export', '--as-of', '2999-01-01T00:00:00Z')
    const unspoken = await farewatch('routes', 'export', '--list', 'with-availability')

    const header = now.stdout.slice(0, now.stdout.indexOf('\n') + 1)
    expect(none).toMatchObject({ exit: 0, stdout: header })
    expect(none.stderr).toContain('nothing to export: no list has been accepted yet')
    expect(now).toMatchObject({ exit: 0, stderr: '' })
    expect(now.stdout.trimEnd().split('\n')).toHaveLength(4)
    expect(early).toMatchObject({ exit: 0, stdout: header })
    expect(early.stderr).toContain('nothing to export: the first list was accepted later')
    expect(late).toMatchObject({ exit: 0, stdout: now.stdout })
    expect(late.stderr.trimEnd().split('\n')).toHaveLength(1)
    expect(JSON.parse(late.stderr)).toMatchObject({ level: 'warn', msg: LATER })
    expect(unspoken.stderr).toContain('no list has been accepted yet')
  })
})
