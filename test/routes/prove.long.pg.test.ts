import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { systemClock } from '../../src/platform/base/clock.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { approveRun, rejectRun } from '../../src/routes/held.ts'
import { CannotProveError, proveHistory } from '../../src/routes/prove/prove-history.ts'
import { runCommand } from '../support/run-command.ts'
import { it } from '../support/test-database.ts'
import { NO_GUARD, noScrub, routes, sync, syncBody } from './sync-fixtures.ts'
import {
  anyScript,
  clearRoutes,
  LIMITS,
  ModelUpstream,
  RARE,
  type Script,
  stepsOf,
} from './sync-model-script.ts'

const never = new AbortController().signal

const prove = (db: Db) => proveHistory({ db, scrub: noScrub, confirmations: 2 }, { signal: never })

/** Plays a script and returns the statuses of its runs. */
async function play(db: Db, script: Script): Promise<string[]> {
  const upstream = new ModelUpstream(script.routes)
  for (const step of stepsOf(script)) {
    if (step.kind === 'list') {
      const { body } = upstream.answer(step)
      await syncBody(db, body, {
        list: step.list,
        confirmations: script.confirmations,
        guard: LIMITS,
      })
    } else {
      const held = await sql<{ id: number }>`
        select id from sync_run where status = 'held' order by id
      `.execute(db)
      const runId = held.rows[step.pick % held.rows.length]?.id
      const deps = { db, scrub: noScrub, clock: systemClock }
      const decide = step.kind === 'approve' ? approveRun : rejectRun
      if (runId !== undefined) await decide(deps, runId, never)
    }
  }
  const { rows } = await sql<{ status: string }>`select status from sync_run`.execute(db)
  return rows.map(({ status }) => status)
}

/** Deletes every third list, from the first one on. */
async function thin(db: Db): Promise<void> {
  await sql`
    delete from snapshot
     where content_hash in (
       select content_hash
         from (select content_hash, row_number() over (order by min(id)) as n
                 from sync_run where content_hash is not null group by content_hash) lists
        where n % 3 = 1)
  `.execute(db)
}

/** Five runs: B–C is missing from the third list on, and A–C is added by the last one. */
async function syncFive(db: Db): Promise<number[]> {
  const lists = [
    routes('A-B', 'B-C'),
    routes('A-B', 'B-C'),
    routes('A-B'),
    routes('A-B'),
    routes('A-B', 'A-C'),
  ]
  const runs: number[] = []
  for (const list of lists) runs.push((await sync(db, list, { guard: NO_GUARD })).runId)
  return runs
}

describe('a proof', { timeout: 120_000 }, () => {
  it('finds the history of any sequence of lists equal, also after lists in between are gone', async ({
    db,
  }) => {
    const seen = new Set<string>()
    await fc.assert(
      fc.asyncProperty(anyScript, async (script) => {
        await clearRoutes(db)
        const statuses = await play(db, script)
        const hasRoutes = (await sql`select from route_version limit 1`.execute(db)).rows.length > 0
        if (!hasRoutes) return
        for (const status of statuses) seen.add(status)

        expect(await prove(db)).toMatchObject({ equal: true, first: null })

        await thin(db)
        const thinned = await prove(db).catch((err: unknown) => {
          if (err instanceof CannotProveError) return null
          throw err
        })
        if (thinned !== null) expect(thinned).toMatchObject({ equal: true, first: null })
      }),
      { seed: 7, numRuns: RARE.length + 1, examples: RARE.map((script) => [script]) },
    )
    expect([...seen]).toEqual(
      expect.arrayContaining(['applied', 'unchanged', 'held', 'dropped', 'approved']),
    )
  })

  it('counts the runs whose list is gone, and looks no further back than the oldest kept list', async ({
    db,
  }) => {
    await syncFive(db)
    await sql`
      delete from snapshot where content_hash = (select content_hash from sync_run order by id limit 1)
    `.execute(db)

    const { rows } = await sql<{ at: Date }>`
      select fetched_at as at from sync_run order by id offset 2 limit 1
    `.execute(db)
    expect(await prove(db)).toMatchObject({
      equal: true,
      lists: [{ since: rows[0]?.at, runs: 3, compared: 3 }],
    })
  })

  // Fault: A stored interval is wrong.
  it('the command exits with 0 or 1, and names the first route and run that differ', async ({
    db,
    databaseUrl,
  }) => {
    const run = (...args: string[]) =>
      runCommand(['history', 'prove', ...args], { DATABASE_URL: databaseUrl })
    expect(await run()).toMatchObject({ exit: 1, stdout: '' })
    const runs = await syncFive(db)

    const equal = await run()
    expect(equal).toMatchObject({ exit: 0 })
    expect(equal.stdout).toMatch(/^equal +yes\ndifferences +0\n/)

    await sql`
      update route_version set valid_to = null, removed_by = null, last_seen_at = null, first_missed_at = null
       where departure_id = 'B'
    `.execute(db)
    expect((await run()).stdout).toMatch(/^equal +no\n(?:.*\n)*kinds +history_step 1,/m)
    const different = await run('--json')
    expect(different.exit).toBe(1)
    expect(JSON.parse(different.stdout)).toMatchObject({
      equal: false,
      kinds: { history_step: 1 },
      first: {
        runId: runs[3],
        subject: { departureId: 'B', destinationId: 'C' },
        expected: { runId: runs[3], next: null },
        stored: { runId: null, until: null },
      },
      lists: [{ list: 'routes', runs: 5, compared: 5 }],
    })
  })
})
