import { type VerifyJobDeps, verifyFaresJob } from '../../src/fares/check.ts'
import { verifyOnDemand } from '../../src/fares/verify.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import { createSemaphore } from '../../src/platform/base/semaphore.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import { dispatchChecks, VERIFY_QUEUE } from '../../src/schedule/claim.ts'
import type { Observation } from '../../src/upstream/observation.ts'
import { questionWith } from '../../src/upstream/question.ts'
import { resetSchedule } from '../faults/fare-facts.ts'
import { silentLog } from '../support/silent-log.ts'
import { until } from '../support/until.ts'
import { observation } from './fare-fixtures.ts'
import { type Answer, legsOf, QUESTIONS, type Script } from './pipeline-steps.ts'
import { claimRef } from './worker-fixtures.ts'

const REQUESTS_PER_SECOND = 1_000

/** A job that has made its calls and waits for the answers. */
export interface WaitingJob {
  readonly claim: string | null
  /** The questions of its calls, by number. */
  readonly asked: () => number[]
  readonly answer: (answers: readonly Answer[]) => void
  readonly kill: () => void
  /** Resolves with the error of the job, or undefined. */
  readonly ended: Promise<unknown>
}

export function questionOf(flightId: string): number {
  return QUESTIONS.findIndex((question) => question.flightId === flightId)
}

/** Deletes everything of the last world. */
export async function clearWorld(db: Db): Promise<void> {
  await sql`
    truncate reseller, api_key, tracked_fare, watch_list, watch, fare_state, fare_schedule, fare_belief_version, evidence,
             availability_change, watch_change, watch_event, incident, check_minute, asked_flight, sabotage
             cascade
  `.execute(db)
  await sql`update feed_head set last_seq = 0 where feed = 'availability'`.execute(db)
  await resetSchedule(db)
}

/** Makes every transaction that records answers fail at its commit while `sabotage` has a row. */
export async function prepareSabotage(db: Db): Promise<void> {
  await sql`create table sabotage (only_row boolean primary key)`.execute(db)
  await sql`
    create function sabotage() returns trigger language plpgsql as $$
    begin
      if exists (select from sabotage) then raise exception 'sabotaged'; end if;
      return null;
    end $$
  `.execute(db)
  await sql`
    create constraint trigger sabotage after insert or update on check_minute
      deferrable initially deferred for each row execute function sabotage()
  `.execute(db)
}

/**
 * The product's own jobs, with an upstream that answers when the test says so.
 * @param ageSeconds how old the answer to a question of now is when it is made.
 */
export function createJobs(db: Db, counts: Script['counts'], ageSeconds: () => number = () => 0) {
  const deps: Omit<VerifyJobDeps, 'upstream'> = {
    db,
    clock: systemClock,
    rules: {
      requestsPerSecond: REQUESTS_PER_SECOND,
      minRecheckSeconds: 60,
      massHoldMs: 600_000,
      ...counts,
    },
    metrics: createMetrics(),
    log: silentLog,
    recording: createSemaphore(1),
  }

  function begin(
    claim: string | null,
    work: (deps: VerifyJobDeps, signal: AbortSignal) => Promise<unknown>,
  ): WaitingJob {
    const calls = new Map<number, (observation: Omit<Observation, 'ageSeconds'>) => void>()
    const killing = new AbortController()
    const upstream: VerifyJobDeps['upstream'] = {
      verifyFares: ({ flightId }, { signal }) =>
        new Promise((resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason))
          const age = { ageSeconds: ageSeconds() }
          calls.set(questionOf(flightId), (answer) => resolve({ ...answer, ...age }))
        }),
    }
    const ended = work({ ...deps, upstream }, killing.signal).then(
      () => undefined,
      (err: unknown) => err,
    )
    return {
      claim,
      asked: () => [...calls.keys()],
      answer: (answers) => {
        for (const [question, resolve] of calls) {
          const { outbound, back } = legsOf(answers, question)
          resolve(observation(outbound, back))
        }
      },
      kill: () => killing.abort(new Error('killed')),
      ended,
    }
  }

  /** Resolves when the job has made so many calls, or has ended: with none to make it should. */
  async function untilAsked(job: WaitingJob, questions: number): Promise<void> {
    let ended = false
    void job.ended.then(() => {
      ended = true
    })
    const enough = Math.max(1, questions)
    await until('the questions', () => ended || job.asked().length >= enough)
  }

  return {
    claim: async (claimId: string, questions: number) => {
      const claim = await claimRef(db, claimId)
      const job = begin(claimId, (all, signal) => verifyFaresJob(all, claim, signal))
      await untilAsked(job, questions)
      return job
    },
    onDemand: async (question: number) => {
      const asked = QUESTIONS[question] as (typeof QUESTIONS)[number]
      const job = begin(null, (all, signal) => verifyOnDemand(all, questionWith(asked), signal))
      await untilAsked(job, 1)
      return job
    },
  }
}

/** Ends leases and intervals of these fares alone, and dispatches. Returns claims by question. */
export async function dispatch(
  db: Db,
  { flightIds, processes }: { flightIds: readonly string[]; processes: number },
): Promise<Map<number, string>> {
  await sql`
    update fare_schedule s
       set leased_until = '-infinity', not_before = d.at, interval_seconds = 2 * 86400,
           lane_due_at = case when s.lane is not null then d.at end
      from (select id, clock_timestamp() + case when flight_id = any(${flightIds}::text[]) then interval '-1 ms'
                                                else interval '1 day' end as at
              from tracked_fare) d
     where d.id = s.tracked_fare_id
  `.execute(db)
  const jobs: string[] = []
  const queue = {
    enqueue: async (name: string, { payload }: { payload: object }) => {
      jobs.push(`${name} ${JSON.stringify(payload)}`)
    },
  }
  const deps = { db, queue, requestsPerSecond: REQUESTS_PER_SECOND, minRecheckSeconds: 60 }
  const dispatched = await Promise.all(
    Array.from({ length: processes }, () => dispatchChecks(deps)),
  )
  const checks = dispatched.flat()
  const claims = Map.groupBy(checks, (check) => check.claimId)
  const wanted = [...claims].map(([claimId, fares]) => {
    const fareIds = fares.map(({ fareId }) => fareId)
    return `${VERIFY_QUEUE} ${JSON.stringify({ claimId, fareIds })}`
  })
  if (jobs.length !== wanted.length || wanted.some((job) => !jobs.includes(job))) {
    throw new Error('not exactly one job for each claim')
  }
  const { rows } = await sql<{ id: number; flightId: string }>`
    select id, flight_id as "flightId" from tracked_fare
  `.execute(db)
  const flightOf = new Map(rows.map((row) => [row.id, row.flightId]))
  const claimed = checks.map(
    (check) => [questionOf(flightOf.get(check.fareId) ?? ''), check.claimId] as const,
  )
  if (new Set(claimed.map(([question]) => question)).size !== claimed.length) {
    throw new Error('a fare was claimed twice')
  }
  return new Map(claimed)
}

/** Moves the slots of a claim to now, or to a time that is too late for its job. */
export async function moveSlots(
  db: Db,
  claimId: string,
  { late }: { late: boolean },
): Promise<void> {
  await sql`
    update fare_schedule set slot_at = clock_timestamp() - make_interval(secs => ${late ? 2 : 0})
     where claim_id = ${claimId}
  `.execute(db)
}

export async function sabotaged<T>(db: Db, work: () => Promise<T>): Promise<T> {
  await sql`insert into sabotage values (true)`.execute(db)
  try {
    return await work()
  } finally {
    await sql`truncate sabotage`.execute(db)
  }
}
