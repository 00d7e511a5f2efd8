import fc from 'fast-check'
import { expect } from 'vitest'
import type { ClaimRef } from '../../src/fares/beliefs.ts'
import { type VerifyJobDeps, verifyFaresJob } from '../../src/fares/check.ts'
import { verifyOnDemand } from '../../src/fares/verify.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import { dispatchChecks } from '../../src/schedule/claim.ts'
import { LEASE_SECONDS } from '../../src/schedule/due.ts'
import { questionWith } from '../../src/upstream/question.ts'
import { available, observation, RULES, silent } from '../fares/fare-fixtures.ts'
import {
  commandsOf,
  createInterleaving,
  type InterleavedProcess,
  type Interleaving,
  playing,
  type StatementResult,
} from '../support/interleaving.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { dispatch, idleQueue, pass, trackFares } from './schedule-fixtures.ts'

const REQUESTS_PER_SECOND = 20
const SPACING_MS = 1_000 / REQUESTS_PER_SECOND
const PROCESSES = 3
const FARES = 4

const ANSWERS = {
  available: available('100.00'),
  silent,
  limited: { kind: 'unknown', reason: 'rate_limited' },
} as const

interface Step {
  readonly process: number
  readonly do: 'dispatch' | 'dispatch without a queue' | 'job' | 'on demand' | 'die'
  /** Which job or fare, modulo their number. */
  readonly at: number
  readonly answer: keyof typeof ANSWERS
}

interface World {
  readonly db: Db
  readonly interleaving: Interleaving
  readonly processes: InterleavedProcess[]
  readonly fares: readonly number[]
  /** The jobs that were ever enqueued: each may run again, and late. */
  readonly jobs: ClaimRef[]
  /** `process claim` and `process fare`: what a process may end claims for. */
  readonly concerns: Set<string>
  readonly granted: number[]
  passedMs: number
  died: number
}

/** Each change of a claim, and each counted answer, in the order of the commits. */
async function prepareLogs(db: Db): Promise<void> {
  await sql`
    create table claim_log (n serial, fare bigint, process text, ended uuid, begun uuid, ended_slot timestamptz, at timestamptz)
  `.execute(db)
  await sql`create table answer_log (n serial, fare bigint, asked_at timestamptz)`.execute(db)
  await sql`
    create function log_claim() returns trigger language plpgsql as $$
    begin
      insert into claim_log (fare, process, ended, begun, ended_slot, at)
      values (old.tracked_fare_id, current_setting('application_name'), old.claim_id, new.claim_id, old.slot_at, clock_timestamp());
      return null;
    end $$
  `.execute(db)
  await sql`
    create trigger log_claim after update on fare_schedule for each row
      when (old.claim_id is distinct from new.claim_id) execute function log_claim()
  `.execute(db)
  await sql`
    create function log_answer() returns trigger language plpgsql as $$
    begin
      insert into answer_log (fare, asked_at) values (new.tracked_fare_id, new.asked_at);
      return null;
    end $$
  `.execute(db)
  await sql`
    create trigger log_answer after update on fare_state for each row
      when (old.checks < new.checks) execute function log_answer()
  `.execute(db)
}

async function createWorld(db: Db, url: string, scheduler: fc.Scheduler): Promise<World> {
  await sql`truncate tracked_fare, fare_schedule, reseller_queue, turn, claim_log, answer_log cascade`.execute(
    db,
  )
  await sql`update upstream_budget set next_slot_at = now(), next_lane_at = now()`.execute(db)
  const granted: number[] = []
  const open = new Map<string, number[] | undefined>()
  const world: World = {
    db,
    interleaving: await createInterleaving({ url, scheduler, onStatement: noteSlots }),
    processes: [],
    fares: await trackFares(
      db,
      Array.from({ length: FARES }, (_, vdue) => ({
        vdue,
        lane: vdue === 0 ? 'confirmation' : null,
      })),
    ),
    jobs: [],
    concerns: new Set(),
    granted,
    passedMs: 0,
    died: 0,
  }
  /** Slots are granted by the commit of their transaction. */
  function noteSlots({ process, text, rows: [row] }: StatementResult): void {
    const slots = open.get(process) ?? []
    if (row !== undefined && 'firstUs' in row) {
      const {
        firstUs,
        spacingUs,
        granted: count,
      } = row as Record<'firstUs' | 'spacingUs' | 'granted', number>
      for (let i = 0; i < count; i += 1) {
        slots.push((firstUs + i * spacingUs) / 1_000 + world.passedMs)
      }
      open.set(process, slots)
    }
    if (text === 'commit') granted.push(...slots)
    if (text === 'commit' || text === 'rollback') open.delete(process)
  }
  for (let i = 0; i < PROCESSES; i += 1) await startProcess(world, i)
  return world
}

/** A process that takes the place of one that died. */
async function startProcess(world: World, place: number): Promise<void> {
  world.processes[place] = await world.interleaving.open(`process ${place}/${world.died}`)
}

function depsOf(world: World, { db }: InterleavedProcess, answer: Step['answer']): VerifyJobDeps {
  const { scheduler } = world.interleaving
  return {
    db,
    clock: {
      now: () => new Date(),
      // Waits end in any order too.
      sleep: (_, signal) =>
        new Promise((resolve, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason))
          void scheduler.schedule(Promise.resolve(), 'a wait').then(() => resolve())
        }),
    },
    upstream: {
      verifyFares: async ({ flightId }) => {
        await scheduler.schedule(Promise.resolve(), `the answer for ${flightId}`)
        return observation(ANSWERS[answer])
      },
    },
    rules: { ...RULES, requestsPerSecond: REQUESTS_PER_SECOND },
    metrics: createMetrics(),
    log: silentLog,
  }
}

async function dispatchOn(
  world: World,
  process: InterleavedProcess,
  isDown: boolean,
): Promise<void> {
  const { scheduler } = world.interleaving
  const enqueue = async (_: string, { payload }: { payload: object }) => {
    const claim = payload as ClaimRef
    world.concerns.add(`${process.name} ${claim.claimId}`)
    await scheduler.schedule(Promise.resolve(), 'enqueue')
    if (isDown) throw new Error('the queue is down')
    world.jobs.push(claim)
  }
  const deps = {
    db: process.db,
    queue: { enqueue },
    requestsPerSecond: REQUESTS_PER_SECOND,
    minRecheckSeconds: 60,
  }
  await dispatchChecks(deps).catch((err: Error) => {
    if (err.message !== 'the queue is down') throw err
  })
}

async function runStep(world: World, process: InterleavedProcess, step: Step): Promise<unknown> {
  const { jobs, fares, concerns, interleaving } = world
  const { signal } = new AbortController()
  const deps = depsOf(world, process, step.answer)
  switch (step.do) {
    case 'job': {
      const claim = jobs[step.at % Math.max(1, jobs.length)]
      if (claim === undefined) return
      concerns.add(`${process.name} ${claim.claimId}`)
      return verifyFaresJob(deps, claim, signal)
    }
    case 'on demand': {
      const at = step.at % fares.length
      concerns.add(`${process.name} ${fares[at]}`)
      return verifyOnDemand(deps, questionWith({ flightId: `F${at}` }), signal)
    }
    case 'die':
      await interleaving.scheduler.schedule(Promise.resolve(), `${process.name} dies`)
      return process.kill()
    default:
      return dispatchOn(world, process, step.do !== 'dispatch')
  }
}

async function runTogether(world: World, steps: readonly Step[]): Promise<void> {
  await world.interleaving.together(
    steps.flatMap((step) => {
      const process = world.processes[step.process]
      return process === undefined ? [] : [{ process, run: () => runStep(world, process, step) }]
    }),
  )
  for (const [place, process] of world.processes.entries()) {
    if (!process.isDead()) continue
    world.died += 1
    await startProcess(world, place)
  }
}

async function passSeconds(world: World, seconds: number): Promise<void> {
  await pass(world.db, seconds)
  world.passedMs += seconds * 1_000
}

async function expectPromises({ db, granted, concerns }: World): Promise<void> {
  const { rows } = await sql<{
    fare: number
    process: string
    ended: string
    begun: string | null
    leased: boolean
  }>`
    select fare, process, ended, begun, ended_slot + make_interval(secs => ${LEASE_SECONDS}) > at as leased
      from claim_log where ended is not null order by n
  `.execute(db)
  expect(
    rows.filter(({ begun, leased }) => begun !== null && leased),
    'claims within the lease of another',
  ).toEqual([])
  const foreign = ({ begun, process, ended, fare }: (typeof rows)[number]) =>
    begun === null && !concerns.has(`${process} ${ended}`) && !concerns.has(`${process} ${fare}`)
  expect(rows.filter(foreign), 'claims that a process ended without having them').toEqual([])

  const slots = granted.toSorted((a, b) => a - b)
  const gaps = slots.slice(1).map((slot, i) => slot - (slots[i] ?? 0))
  // `pass` moves by whole seconds of the database, which keeps microseconds.
  expect(Math.min(SPACING_MS, ...gaps), 'the spacing of slots').toBeGreaterThan(SPACING_MS - 0.1)

  const twice = await sql`
    select from answer_log a join answer_log b on b.fare = a.fare and b.n > a.n and b.asked_at <= a.asked_at
  `.execute(db)
  expect(twice.rows, 'answers that count twice, or after a later one').toEqual([])
}

/** Nothing that happened may leave a fare out: after the leases all fares are claimed again. */
async function expectNothingLost(world: World): Promise<void> {
  await passSeconds(world, LEASE_SECONDS + 7_200)
  const claimed = new Set<number>()
  for (let i = 0; i < 4 && claimed.size < FARES; i += 1) {
    for (const fare of await dispatch(world.db, REQUESTS_PER_SECOND, idleQueue)) claimed.add(fare)
    await passSeconds(world, 6)
  }
  expect(claimed.size, 'fares that are claimed again').toBe(FARES)
}

const anyStep: fc.Arbitrary<Step> = fc.record({
  process: fc.nat(PROCESSES - 1),
  do: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom('dispatch' as const, 'job' as const) },
    { weight: 2, arbitrary: fc.constant('on demand' as const) },
    { weight: 2, arbitrary: fc.constantFrom('die' as const, 'dispatch without a queue' as const) },
  ),
  at: fc.nat(FARES),
  answer: fc.constantFrom('available', 'available', 'silent', 'limited'),
})

const anyCommands = commandsOf<World>(
  [
    fc
      .array(anyStep, { minLength: 2, maxLength: 5 })
      .map((steps) => [`together ${JSON.stringify(steps)}`, (world) => runTogether(world, steps)]),
    fc
      .constantFrom(1, 30, LEASE_SECONDS + 1, 3_600)
      .map((seconds) => [`pass ${seconds} s`, (world) => passSeconds(world, seconds)]),
  ],
  { most: 12, expectPromises },
)

it('in any order of statements and deaths a fare is claimed once within a lease, no claim is lost, an answer counts once, and slots keep their spacing', async ({
  db,
  databaseUrl,
}) => {
  await prepareLogs(db)
  const seen = { slots: 0, died: 0, answers: 0 }

  await fc.assert(
    fc.asyncProperty(anyCommands, fc.scheduler(), async (commands, scheduler) => {
      const world = await createWorld(db, databaseUrl, scheduler)
      try {
        await fc.asyncModelRun(async () => ({ model: {}, real: world }), commands)
        await expectNothingLost(world)
      } finally {
        await world.interleaving.close()
      }
      const { rows } = await sql`select from answer_log`.execute(db)
      seen.slots += world.granted.length
      seen.died += world.died
      seen.answers += rows.length
    }),
    playing(6),
  )

  // Otherwise the worlds were too empty to prove anything.
  if (process.env.REPLAY === undefined) {
    expect(Math.min(seen.slots, seen.died, seen.answers), JSON.stringify(seen)).toBeGreaterThan(0)
  }
})
