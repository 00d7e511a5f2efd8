import { expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { pauseWatches, resumeWatches } from '../../src/watches/change-watches.ts'
import { until } from '../support/until.ts'
import { cells, importRows, newReseller } from '../watches/watch-fixtures.ts'
import type { Call, PipelineModel } from './pipeline-model.ts'
import { type Answer, QUESTIONS, type Script, type Step, type WatchPlan } from './pipeline-steps.ts'
import {
  createJobs,
  dispatch,
  moveSlots,
  questionOf,
  sabotaged,
  type WaitingJob,
} from './pipeline-world.ts'

interface Waiting {
  readonly job: WaitingJob
  readonly calls: readonly Call[]
}

export interface Playing {
  readonly db: Db
  readonly model: PipelineModel
  readonly jobs: ReturnType<typeof createJobs>
  readonly resellers: Readonly<Record<'ana' | 'ben', number>>
  /** The newest first. */
  readonly claims: string[]
  readonly waiting: Waiting[]
  /** How many seconds ago the answers to the next questions are made. */
  ageSeconds: number
  asked: number
}

/** Answers begin nine minutes ago, and each is younger than the one before: a belief is fresh all the time. */
const FIRST_AGE_SECONDS = 540
/** Some answers come too soon after the one before to count. */
const GAP_SECONDS = [21, 31, 6, 31, 3, 21]

/** Plays a script on the product and on the model. */
export async function playScript(db: Db, script: Script, model: PipelineModel): Promise<Playing> {
  const playing: Playing = {
    db,
    model,
    jobs: createJobs(db, script.counts, () => playing.ageSeconds),
    resellers: { ana: await newReseller(db, 'ana'), ben: await newReseller(db, 'ben') },
    claims: [],
    waiting: [],
    ageSeconds: FIRST_AGE_SECONDS,
    asked: 0,
  }
  for (const plan of script.watches) await addWatch(playing, plan)
  for (const step of script.steps) await playStep(playing, step)
  for (const { job } of playing.waiting) job.kill()
  await Promise.all(playing.waiting.map(({ job }) => job.ended))
  // Whatever happened, every fare with an active watch is scheduled.
  await dispatchDue(playing, { due: QUESTIONS.map(() => true), twice: false })
  return playing
}

/** Every known flight departs while a batch is under way, whose answers then say that all flights are gone. */
export async function departDuringBatch(playing: Playing): Promise<void> {
  const { db, waiting } = playing
  waiting.splice(0)
  await ask(playing, { claim: 0, late: false })
  await sql`
    update fare_state set departs_at = clock_timestamp() where departs_at is not null
  `.execute(db)
  for (const { job } of waiting) {
    job.answer(QUESTIONS.map(() => ['gone', 'gone']))
    expect(await job.ended).toBeUndefined()
  }
}

async function playStep(playing: Playing, step: Step): Promise<void> {
  switch (step.do) {
    case 'check':
      for (let i = 0; i < step.times; i += 1) await check(playing, step)
      return
    case 'dispatch':
      return dispatchDue(playing, step)
    case 'ask':
      return ask(playing, step)
    case 'ask on demand':
      return askOnDemand(playing, step.question)
    case 'answer':
      return answerOne(playing, step)
    case 'watch':
      return addWatch(playing, step.plan)
    default:
      return changeWatch(playing, step.do, step.watch)
  }
}

async function check(
  playing: Playing,
  { question, answers }: Extract<Step, { do: 'check' }>,
): Promise<void> {
  const { model, waiting } = playing
  await dispatchDue(playing, { due: QUESTIONS.map((_, i) => i === question), twice: false })
  if (!model.isActive(question)) return
  await ask(playing, { claim: 0, late: false })
  await answerOne(playing, { job: waiting.length - 1, answers, fate: 'recorded' })
}

async function dispatchDue(
  { db, model, claims }: Playing,
  { due, twice }: { due: readonly boolean[]; twice: boolean },
): Promise<void> {
  const flightIds = QUESTIONS.flatMap(({ flightId }, i) => (due[i] ? [flightId] : []))
  const claimed = await dispatch(db, { flightIds, processes: twice ? 2 : 1 })
  const expected = flightIds.map(questionOf).filter((question) => model.isActive(question))
  expect(new Set(claimed.keys())).toEqual(new Set(expected))
  for (const [question, claimId] of claimed) model.fare(question).claim = claimId
  claims.unshift(...new Set(claimed.values()))
}

async function ask(
  playing: Playing,
  { claim, late }: { claim: number; late: boolean },
): Promise<void> {
  const { db, model, jobs, claims } = playing
  const claimId = claims[claim % claims.length]
  if (claimId === undefined) return
  const held = QUESTIONS.map((_, i) => i).filter((i) => model.fare(i).claim === claimId)
  await untilNextMoment(playing)
  await moveSlots(db, claimId, { late })
  const job = await jobs.claim(claimId, late ? 0 : held.length)
  expect(new Set(job.asked())).toEqual(new Set(late ? [] : held))
  if (late) for (const question of held) model.fare(question).claim = null
  if (!late && held.length > 0) wait(playing, job)
}

async function askOnDemand(playing: Playing, question: number): Promise<void> {
  await untilNextMoment(playing)
  wait(playing, await playing.jobs.onDemand(question))
}

function wait(playing: Playing, job: WaitingJob): void {
  const calls = job.asked().map((question) => ({ question, order: playing.asked++ }))
  playing.waiting.push({ job, calls })
}

async function answerOne(
  playing: Playing,
  { job: at, answers, fate }: Omit<Extract<Step, { do: 'answer' }>, 'do'>,
): Promise<void> {
  const { db, waiting } = playing
  const [one] = waiting.splice(at % Math.max(1, waiting.length), 1)
  if (one === undefined) return
  if (fate === 'killed') {
    one.job.kill()
    await one.job.ended
    return
  }
  if (fate === 'rolled back') {
    await sabotaged(db, () => {
      one.job.answer(answers)
      return one.job.ended
    })
    return
  }
  one.job.answer(answers)
  expect(await one.job.ended).toBeUndefined()
  await countAnswers(playing, one, answers)
}

async function countAnswers(
  { db, model }: Playing,
  { job, calls }: Waiting,
  answers: readonly Answer[],
): Promise<void> {
  // An on-demand check of a fare without an active watch is not recorded.
  const recorded = calls.filter(({ question }) => job.claim !== null || model.isActive(question))
  if (recorded.length === 0) return
  for (const counted of model.countable(job.claim, recorded)) {
    model.count(counted, { answers, ...(await readCounted(db, counted.question)) })
  }
}

/** When the last counted answer was made: only the product knows. And whether the fare shows no belief since. */
async function readCounted(db: Db, question: number): Promise<{ askedAt: Date; hidden: boolean }> {
  const { rows } = await sql<{ askedAt: Date | null; hidden: boolean }>`
    select s.asked_at as "askedAt", s.hidden is not null as hidden
      from fare_state s join tracked_fare f on f.id = s.tracked_fare_id
     where f.flight_id = ${QUESTIONS[question]?.flightId ?? ''}
  `.execute(db)
  const { askedAt, hidden = false } = rows[0] ?? {}
  expect(askedAt).toBeInstanceOf(Date)
  return { askedAt: askedAt ?? new Date(0), hidden }
}

/** Requests of one fare are ordered by the time at which they begin, and count only some time after the one before. */
async function untilNextMoment(playing: Playing): Promise<void> {
  const from = Date.now()
  await until('the next moment', () => Date.now() > from + 2)
  const gap = GAP_SECONDS[playing.asked % GAP_SECONDS.length] ?? 0
  playing.ageSeconds = Math.max(0, playing.ageSeconds - gap)
}

async function addWatch(playing: Playing, plan: WatchPlan): Promise<void> {
  const { db, model, resellers } = playing
  const { reference } = model.watch(plan)
  const question = QUESTIONS[plan.question]
  const row = cells({
    list: 'list',
    reference,
    flight_id: question?.flightId ?? '',
    return_flight_id: question?.returnFlightId ?? '',
    price_threshold_amount: plan.amount ?? '',
    price_threshold_percent: plan.percent ?? '',
  })
  await importRows(db, resellers[plan.reseller], [row])
}

async function changeWatch(
  { db, model, resellers }: Playing,
  change: 'pause' | 'resume',
  at: number,
): Promise<void> {
  const watch = model.watches[at % model.watches.length]
  if (watch === undefined) return
  const selection = {
    resellerId: resellers[watch.reseller],
    list: 'list',
    references: [watch.reference],
  }
  await (change === 'pause' ? pauseWatches(db, selection) : resumeWatches(db, selection))
  if (change === 'pause') model.pause(watch)
  else model.resume(watch)
}
