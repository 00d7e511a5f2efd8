import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { type Db, sql } from '../../src/db/database.ts'
import { GUARD_LIMITS } from '../../src/route-sync/plan/guard.ts'
import { approveRun, rejectRun } from '../../src/route-sync/review/decide-run.ts'
import type { SyncOutcome } from '../../src/route-sync/runs/sync-run.ts'
import { it } from '../support/test-database.ts'
import { noScrub, syncBody } from './sync-fixtures.ts'
import { SyncModel } from './sync-model.ts'
import { readHeld, replayed } from './sync-model-rows.ts'
import {
  anyScript,
  type DecisionStep,
  type ListStep,
  type ModelList,
  type ModelOutcome,
  ModelUpstream,
  type Script,
  SELDOM,
  stepsOf,
} from './sync-model-script.ts'

const RUNS = 50
/** On a slow machine fewer sequences must do; a failure is made smaller for no longer either. */
const MOST_MS = 20_000

/** The same rules, for lists of twenty routes. */
const LIMITS = {
  ...GUARD_LIMITS,
  minimum: 4,
  absentShare: 0.25,
  removedPerDayShare: 0.6,
  growthFrom: 6,
  releaseHours: 0,
}

const never = new AbortController().signal

async function clearRoutes(db: Db): Promise<void> {
  await sql`
    truncate sync_run, route_availability_version, place_version, pending_absence, snapshot
    restart identity cascade
  `.execute(db)
  await sql`update feed_head set last_seq = 0 where feed = 'route'`.execute(db)
}

interface World {
  readonly db: Db
  readonly confirmations: number
  readonly model: SyncModel
  readonly upstream: ModelUpstream
  /** The lists of runs that a person may decide about. */
  readonly lists: Map<number, ModelList>
}

async function playList(world: World, step: ListStep): Promise<void> {
  const { db, model, confirmations, lists } = world
  const { body, list } = world.upstream.answer(step)
  const outcome = await syncBody(db, body, { list: step.list, confirmations, guard: LIMITS })
  if (step.list === 'with-availability' && !model.hasRoutes) {
    expect(outcome.status).toBe('failed')
    return model.note(outcome.runId, step.list, 'failed')
  }
  if (list === null) {
    expect(outcome.status).toBe('rejected')
    return model.note(outcome.runId, step.list, 'rejected')
  }
  lists.set(outcome.runId, list)
  expectOutcome(outcome, model.settle(outcome.runId, list))
}

async function playDecision(world: World, { kind, pick }: DecisionStep): Promise<void> {
  const { db, model, lists } = world
  const held = model.heldRuns()
  const run = held[pick % held.length]
  const list = lists.get(run ?? -1)
  if (run === undefined || list === undefined) return
  const deps = { db, scrub: noScrub, clock: systemClock }
  if (kind === 'approve')
    expectOutcome(await approveRun(deps, run, never), model.approve(run, list))
  else {
    await rejectRun(deps, run, never)
    model.reject(run)
  }
}

/** Of the rules that a list breaks one is told. */
function expectOutcome(outcome: SyncOutcome, { reasons, ...expected }: ModelOutcome): void {
  expect(outcome).toMatchObject(expected)
  if (reasons.length > 0) expect(reasons).toContain(outcome.reason?.code)
}

async function play(db: Db, script: Script): Promise<SyncModel> {
  const { confirmations, routes } = script
  const model = new SyncModel(LIMITS, confirmations)
  const upstream = new ModelUpstream(routes)
  const world = { db, confirmations, model, upstream, lists: new Map<number, ModelList>() }
  for (const step of stepsOf(script)) {
    if (step.kind === 'list') await playList(world, step)
    else await playDecision(world, step)
  }
  return model
}

async function expectTheSame(db: Db, { history, runs, moments }: SyncModel): Promise<void> {
  const held = await readHeld(db)
  expect(held.statuses).toEqual(runs.map(({ run, status }) => ({ run, status })))
  expect(inOrder(held.routes)).toEqual(inOrder(history.routes))
  expect(inOrder(held.availability)).toEqual(inOrder(history.availability))
  expect(inOrder(held.places)).toEqual(inOrder(history.places))
  expect(inOrder(held.changes)).toEqual(inOrder(history.changes))
  expect(held.seqs).toEqual(held.seqs.map((_, at) => at + 1))
  expect(held.head).toBe(held.seqs.length)
  expect(held.moments).toEqual(moments)
  expect(held.current).toEqual([...moments].at(-1)?.[1] ?? new Map())
  const current = [...held.current].map(([of, available]) => [of, available ?? false] as const)
  expect(replayed(held)).toEqual(new Map(current))
}

function inOrder<T>(rows: readonly T[]): string[] {
  return rows.map((row) => stableJson(row)).sort((a, b) => (a < b ? -1 : 1))
}

/** With the keys of objects in one order: jsonb has its own. */
function stableJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}

/** What happened in a sequence: what came of its runs, and the kinds of its changes. */
function wordsOf({ runs, history }: SyncModel): string[] {
  const released = ({ review, status }: SyncModel['runs'][number]) =>
    review !== undefined && ['applied', 'unchanged'].includes(status)
  return [
    ...runs.map((run) => (released(run) ? 'agreed' : run.status)),
    ...history.changes.map((change) => change.kind),
  ]
}

describe('whatever lists the upstream sends', () => {
  it('gives the routes, history, changes and runs of a naive model', {
    timeout: 3 * MOST_MS,
  }, async ({ db }) => {
    const seen = new Map<string, number>()
    await fc.assert(
      fc.asyncProperty(anyScript, async (script) => {
        await clearRoutes(db)

        const model = await play(db, script)

        await expectTheSame(db, model)
        for (const word of wordsOf(model)) seen.set(word, (seen.get(word) ?? 0) + 1)
      }),
      {
        numRuns: RUNS,
        interruptAfterTimeLimit: MOST_MS,
        examples: SELDOM.map((script) => [script]),
      },
    )
    // Sequences in which nothing happens would prove nothing.
    expect([...seen.keys()]).toEqual(
      expect.arrayContaining([
        ...['applied', 'unchanged', 'held', 'rejected', 'dropped', 'approved', 'agreed'],
        ...['route_added', 'route_removed', 'place_changed'],
        ...['route_gained_availability', 'route_lost_availability'],
      ]),
    )
  })
})
