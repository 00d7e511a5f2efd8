import { beforeEach, describe, expect, onTestFinished } from 'vitest'
import { type Db, sql } from '../../../src/platform/db/database.ts'
import { createReseller } from '../../../src/resellers/resellers.ts'
import { aWorld, inWorld } from '../../cli/operator-fixtures.ts'
import { ask, bearer, newKeyText, openApi } from '../../support/api-server.ts'
import { it } from '../../support/test-database.ts'

/** As a prune leaves a database whose feeds begin at 5, 3 and 7. */
async function moveFloors(db: Db): Promise<number> {
  const { id } = await createReseller(db, 'ana')
  await sql`update prune set before = '2026-06-01T00:00Z'`.execute(db)
  await sql`
    update feed_head set first_seq = case feed when 'route' then 5 else 3 end, last_seq = 9
  `.execute(db)
  await sql`update reseller set first_seq = 7, last_seq = 9`.execute(db)
  return id
}

describe('after a prune', () => {
  let resellerId = 0
  beforeEach<{ db: Db }>(async ({ db }) => {
    resellerId = await moveFloors(db)
  })

  it('a number or an instant before the floor is a problem that names the floor', async ({
    db,
  }) => {
    const { base, close } = await openApi(db, { streams: { lasting: true } })
    onTestFinished(close)
    const operator = bearer(await newKeyText(db))
    const own = bearer(await newKeyText(db, { resellerId }))
    const get = async (path: string, headers: Record<string, string> = operator) => {
      const { status, body } = await ask(`${base}/api/v1${path}`, { headers })
      const { code, parameter, first, seq } = body
      return status === 200 ? [status, first, seq] : [status, code, parameter, first]
    }

    const answers = await Promise.all([
      get('/route-changes?after=3'),
      get('/route-changes?after=4'),
      get('/route-changes'),
      get('/availability-changes?after=0'),
      get('/availability-changes'),
      get('/watch-changes?after=5&wait=30', own),
      get('/watch-changes', own),
      get('/watch-changes/stream?after=5', own),
      get('/watch-changes/stream', { ...own, 'last-event-id': '5' }),
      get('/changes/stream?after=r4.f1'),
      get('/changes/stream', { ...operator, 'last-event-id': 'r3.f9' }),
      get('/availability-changes/2/evidence'),
      get('/availability-changes/2/deliveries'),
      get('/availability-changes/2/resellers/ana'),
      get('/availability-changes/3/evidence'),
      get('/watch-changes/6/evidence', own),
      get('/watch-changes/7/evidence', own),
      get('/data/routes?asOf=2026-05-31T23:59:59Z'),
      get('/routes/difference?from=2026-05-31T23:59:59Z'),
    ])

    expect(answers).toEqual([
      [410, 'changes.archived', 'after', 5],
      [200, 5, 9],
      [200, 5, 9],
      [410, 'changes.archived', 'after', 3],
      [200, 3, 9],
      [410, 'changes.archived', 'after', 7],
      [200, 7, 9],
      [410, 'changes.archived', 'after', 7],
      [410, 'changes.archived', 'Last-Event-ID', 7],
      [410, 'changes.archived', 'after', undefined],
      [410, 'changes.archived', 'Last-Event-ID', undefined],
      [410, 'changes.archived', 'seq', 3],
      [410, 'changes.archived', 'seq', 3],
      [410, 'changes.archived', 'seq', 3],
      [404, 'not_found', 'seq', undefined],
      [410, 'changes.archived', 'seq', 7],
      [404, 'not_found', 'seq', undefined],
      [410, 'history.archived', undefined, undefined],
      [410, 'history.archived', undefined, undefined],
    ])
  })

  it('commands about what is archived are refused with the floor, and bad dates too', async ({
    databaseUrl,
  }) => {
    const farewatch = inWorld(await aWorld(databaseUrl, 'postgres'))
    const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)
    const refusals: Readonly<Record<string, string>> = {
      'changes --after 1': 'after is 1, but the feed begins at 3',
      'changes --reseller ana --after 2': 'after is 2, but the feed begins at 7',
      'routes export --as-of 2026-05-31': 'the history before 2026-06-01T00:00:00.000Z is archived',
      'rollup --from 2026-05-31': 'the history before 2026-06-01T00:00:00.000Z is archived',
      'export route_changes --from 4 --to -': '"route_changes" is archived before 5',
      'export route_history --from 2026-05-31 --to -':
        'is archived before 2026-06-01T00:00:00.000Z',
      'history prune --before 2026-02-30 --export x': 'It must be a date such as 2026-01-31.',
      [`history prune --before ${yesterday} --export x --yes`]: '--before must be',
    }
    for (const [command, text] of Object.entries(refusals)) {
      const { exit, stderr } = await farewatch(...command.split(' '))
      expect([command, exit, stderr]).toEqual([
        command,
        expect.any(Number),
        expect.stringContaining(text),
      ])
      expect([command, exit]).not.toEqual([command, 0])
    }
  })
})
