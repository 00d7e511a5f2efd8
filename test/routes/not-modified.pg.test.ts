import { describe, expect } from 'vitest'
import type { RouteListName } from '../../src/platform/base/kinds.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import type { SyncOutcome } from '../../src/routes/runs.ts'
import { syncList } from '../../src/routes/sync.ts'
import type { Route } from '../../src/upstream/route-list.ts'
import { it } from '../support/test-database.ts'
import { depsOf } from './held-fixtures.ts'
import {
  availability,
  type ListUpstream,
  livePairs,
  manyRoutes,
  outcomeOf,
  routes,
  upstreamOf,
} from './sync-fixtures.ts'

const never = new AbortController().signal

/** An upstream that answers 304 to a request with the entity tag of its list. */
function tagged(list: readonly Route[]) {
  const body = upstreamOf(JSON.stringify(list))
  const sentTags: (string | null)[] = []
  const upstream: ListUpstream = {
    fetchRouteListIfModified: async (name, call) => {
      sentTags.push(call.validators.etag)
      const found = await body.fetchRouteListIfModified(name, call)
      if (found === null) return null
      const etag = `"${found.contentHash.slice(0, 8)}"`
      return call.validators.etag === etag
        ? null
        : { ...found, validators: { etag, lastModified: null } }
    },
  }
  return { upstream, sentTags }
}

async function run(
  db: Db,
  upstream: ListUpstream,
  list: RouteListName = 'routes',
): Promise<SyncOutcome> {
  return outcomeOf(await syncList({ ...depsOf(db), upstream }, { list }, never))
}

async function listedRun(db: Db, runId: number) {
  const { rows } = await sql<{ notModified: boolean; bytes: number; hash: string }>`
    select not_modified as "notModified", bytes, content_hash as hash from farewatch.sync_runs where sync_run_id = ${runId}
  `.execute(db)
  return rows[0]
}

describe('an upstream that answers 304', () => {
  it('a 304 makes an unchanged run with the hash of the last accepted list', async ({ db }) => {
    const { upstream, sentTags } = tagged(routes('PMI-MAD'))
    const first = await run(db, upstream)

    const second = await run(db, upstream)
    const third = await run(db, upstream)

    expect(second).toMatchObject({ status: 'unchanged', fetched: 1, live: 1 })
    expect(third.status).toBe('unchanged')
    expect(sentTags).toEqual([null, expect.any(String), sentTags[1]])
    const listed = await listedRun(db, first.runId)
    expect(await listedRun(db, third.runId)).toEqual({ ...listed, notModified: true })
  })

  it('a 304 confirms pending absences like the list itself', async ({ db }) => {
    await run(db, tagged(routes('PMI-MAD', 'PMI-BCN')).upstream)
    const { upstream } = tagged(routes('PMI-BCN'))
    await run(db, upstream)

    expect(await run(db, upstream)).toMatchObject({ status: 'applied', removed: 1 })
    expect(await livePairs(db)).toEqual(['PMI-BCN'])
  })

  it('the request is unconditional when the last accepted list is not kept', async ({ db }) => {
    const { upstream, sentTags } = tagged(routes('PMI-MAD'))
    await run(db, upstream)
    await sql`delete from snapshot`.execute(db)

    await run(db, upstream)

    expect(sentTags).toEqual([null, null])
  })

  it('a 304 makes the kept with-availability list be read again after the routes have changed', async ({
    db,
  }) => {
    await run(db, tagged(routes('PMI-MAD')).upstream)
    const { upstream } = tagged(routes('PMI-MAD', 'PMI-BCN'))
    await run(db, upstream, 'with-availability')
    await run(db, tagged(routes('PMI-MAD', 'PMI-BCN')).upstream)

    const outcome = await run(db, upstream, 'with-availability')

    expect(outcome).toMatchObject({ status: 'applied', gained: 1 })
    expect(await listedRun(db, outcome.runId)).toMatchObject({ notModified: true })
    expect(await availability(db)).toEqual({ 'PMI-BCN': true, 'PMI-MAD': true })
  })

  it('the entity tag of a held list is never sent', async ({ db }) => {
    await run(db, tagged(manyRoutes(40)).upstream)
    const half = tagged(manyRoutes(20))

    await run(db, half.upstream)
    const again = await run(db, half.upstream)

    expect(again).toMatchObject({ status: 'held' })
    expect(await listedRun(db, again.runId)).toMatchObject({ notModified: false })
  })
})
