import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { systemClock } from '../../src/platform/base/clock.ts'
import type { Db } from '../../src/platform/db/database.ts'
import { approveRun, rejectRun } from '../../src/routes/held.ts'
import type { SyncOutcome } from '../../src/routes/runs.ts'
import { it } from '../support/test-database.ts'
import { noScrub, syncBody } from './sync-fixtures.ts'
import { SyncModel } from './sync-model.ts'
import { readStored, replayed } from './sync-model-rows.ts'
import {
  anyScript,
  clearRoutes,
  type DecisionStep,
  LIMITS,
  type ListStep,
  type ModelList,
  type ModelOutcome,
  ModelUpstream,
  RARE,
  type Script,
  stepsOf,
} from './sync-model-script.ts'

const RUNS = 15

const never = new AbortController().signal

interface World {
  readonly db: Db
  readonly confirmations: number
  readonly model: SyncModel
  readonly upstream: ModelUpstream
  /** The lists of the runs that an operator may decide about. */
  readonly lists: Map<number, ModelList>
}

async function playList(world: World, step: ListStep): Promise<void> {
  const { db, model, confirmations, lists } = world
  const { body, list } = world.upstream.answer(step)
  const outcome = await syncBody(db, body, { list: step.list, confirmations, guard: LIMITS })
  if (step.list === 'with-availability' && !model.hasRoutes) {
    expect(outcome.status).toBe('failed')
    return model.recordFailure(outcome.runId, step.list, 'failed')
  }
  if (list === null) {
    expect(outcome.status).toBe('rejected')
    return model.recordFailure(outcome.runId, step.list, 'rejected')
  }
  lists.set(outcome.runId, list)
  expectOutcome(outcome, model.applyOrHold(outcome.runId, list))
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
    model.reject(list)
  }
}

/** A run reports one of the rules that its list breaks. */
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
  const stored = await readStored(db)
  expect(stored.statuses).toEqual(runs.map(({ run, status }) => ({ run, status })))
  expect(inOrder(stored.routes)).toEqual(inOrder(history.routes))
  expect(inOrder(stored.availability)).toEqual(inOrder(history.availability))
  expect(inOrder(stored.places)).toEqual(inOrder(history.places))
  expect(inOrder(stored.changes)).toEqual(inOrder(history.changes))
  expect(stored.seqs).toEqual(stored.seqs.map((_, at) => at + 1))
  expect(stored.head).toBe(stored.seqs.length)
  expect(stored.moments).toEqual(moments)
  expect(stored.current).toEqual([...moments].at(-1)?.[1] ?? new Map())
  const current = [...stored.current].map(([of, available]) => [of, available ?? false] as const)
  expect(replayed(stored)).toEqual(new Map(current))
}

function inOrder<T>(rows: readonly T[]): string[] {
  return rows.map((row) => stableJson(row)).sort((a, b) => (a < b ? -1 : 1))
}

/** Sorts the keys of objects, because jsonb has its own order. */
function stableJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}

/** The statuses of the runs of a sequence, and the kinds of its changes. */
function eventsOf({ runs, history }: SyncModel): string[] {
  return [
    ...runs.map(({ agreed, status }) => (agreed ? 'agreed' : status)),
    ...history.changes.map((change) => change.kind),
  ]
}

describe('random sequences of lists', () => {
  it('routes, history, changes and runs equal those of a naive model', async ({ db }) => {
    const seen = new Map<string, number>()
    await fc.assert(
      fc.asyncProperty(anyScript, async (script) => {
        await clearRoutes(db)

        const model = await play(db, script)

        await expectTheSame(db, model)
        for (const event of eventsOf(model)) seen.set(event, (seen.get(event) ?? 0) + 1)
      }),
      {
        numRuns: RUNS,
        examples: RARE.map((script) => [script]),
      },
    )
    // All statuses and kinds must occur, otherwise the comparison proves little.
    expect([...seen.keys()]).toEqual(
      expect.arrayContaining([
        ...['applied', 'unchanged', 'held', 'rejected', 'dropped', 'approved', 'agreed'],
        ...['route_added', 'route_removed', 'place_changed'],
        ...['route_gained_availability', 'route_lost_availability'],
      ]),
    )
  })
})
