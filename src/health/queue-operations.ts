import { Type } from 'typebox'
import {
  JOB_QUEUES,
  JOB_STATES,
  type JobQueue,
  type JobState,
  ROUTE_LISTS,
} from '../platform/base/kinds.ts'
import type { Logger } from '../platform/base/logger.ts'
import { recordAction } from '../platform/db/audit.ts'
import type { Db } from '../platform/db/database.ts'
import { operations } from '../platform/http/operation.ts'
import { onlyPage, pageOf } from '../platform/http/pages.ts'
import { ProblemError } from '../platform/http/problems.ts'
import { Instant, object, oneOf, orNull } from '../platform/http/schemas.ts'
import type { QueuedJob } from '../platform/queue/queue-system.ts'
import type { Schedule as ShownSchedule } from './status-operations.ts'

export interface DeadJobsChange {
  /** The name of the queue. */
  readonly name: string
  readonly ids: readonly string[] | 'all'
  readonly verb: 'retry' | 'drop'
}

/** What operators do with the queues. A dependency, because the work behind it counts the operations of the API. */
export interface QueueControl {
  jobs(queue: JobQueue, state: JobState, limit: number): Promise<readonly QueuedJob[]>
  changeDead(change: DeadJobsChange): Promise<{ changed: number; missing: readonly string[] }>
  schedules(): Promise<ShownSchedule[]>
  /** Since when the work of the schedule is due; undefined if there is no such schedule. */
  run(name: string): Promise<Date | undefined>
}

interface QueueDeps {
  readonly db: Db
  readonly queues: QueueControl
  readonly log: Logger
}

const { operator } = operations<QueueDeps>()

const common = { tag: 'Operators', scope: 'operate' } as const

const State = oneOf(JOB_STATES, { title: 'JobState' })
const Job = object(
  {
    queue: oneOf(JOB_QUEUES),
    id: Type.String(),
    state: State,
    name: Type.String(),
    payload: Type.Unknown({ description: 'Ids only.' }),
    attempts: Type.Integer(),
    enqueuedAt: Instant,
    startedAt: orNull(Instant),
    endedAt: orNull(Instant),
    failure: orNull(Type.String()),
  },
  { title: 'Job' },
)

const listJobs = operator({
  ...common,
  id: 'listJobs',
  method: 'GET',
  path: '/api/v1/jobs',
  summary: 'List jobs of the queues, by their state',
  query: object({
    queue: Type.Optional(oneOf(JOB_QUEUES, { description: 'Only those of this queue.' })),
    state: Type.Optional(oneOf(JOB_STATES, { description: 'Default: dead.' })),
    limit: Type.Integer({
      minimum: 1,
      maximum: 1000,
      default: 20,
      description: 'The maximum number of jobs of each queue.',
    }),
  }),
  answer: { about: 'The jobs, the latest of each queue first.', schema: pageOf(Job) },
  handler: async (deps, { query: { queue: only, state = 'dead', limit } }) => {
    const named = only === undefined ? JOB_QUEUES : [only]
    const jobs = await Promise.all(
      named.map(async (queue) =>
        (await deps.queues.jobs(queue, state, limit)).map(({ dueAt: _dueAt, ...job }) => ({
          ...job,
          queue,
          state,
        })),
      ),
    )
    return onlyPage(jobs.flat())
  },
})

const QueueParams = object({ queue: oneOf(JOB_QUEUES, { description: 'The queue.' }) })
const Selection = object({
  ids: orNull(Type.Array(Type.String(), { minItems: 1, maxItems: 1000 }), 'Null: all dead jobs.'),
})
const changed = {
  about: 'How many jobs were changed, and the ids that no dead job has.',
  schema: object({
    queue: oneOf(JOB_QUEUES),
    changed: Type.Integer(),
    missing: Type.Array(Type.String()),
  }),
} as const

const retry = operator({
  ...common,
  id: 'retryJobs',
  method: 'POST',
  path: '/api/v1/jobs/{queue}/retry',
  summary: 'Retry dead jobs with all their attempts',
  params: QueueParams,
  body: Selection,
  answer: changed,
  example: { params: { queue: 'verify' }, body: { ids: ['17'] } },
  handler: (deps, { params: { queue }, body: { ids } }) =>
    changeJobs(deps, { name: queue, ids, verb: 'retry' }),
})

const drop = operator({
  ...common,
  id: 'dropJobs',
  method: 'POST',
  path: '/api/v1/jobs/{queue}/drop',
  summary: 'Delete dead jobs',
  description: 'What is due is in the database, so nothing is lost.',
  params: QueueParams,
  body: Selection,
  answer: changed,
  example: { params: { queue: 'verify' }, body: { ids: ['17'] } },
  handler: (deps, { params: { queue }, body: { ids } }) =>
    changeJobs(deps, { name: queue, ids, verb: 'drop' }),
})

interface Change {
  readonly name: JobQueue
  readonly ids: readonly string[] | null
  readonly verb: 'retry' | 'drop'
}

async function changeJobs({ queues }: QueueDeps, { name, ids, verb }: Change) {
  return { queue: name, ...(await queues.changeDead({ name, ids: ids ?? 'all', verb })) }
}

const Schedule = object(
  {
    name: Type.String(),
    list: orNull(oneOf(ROUTE_LISTS), 'The list that it fetches; null for other work.'),
    cron: orNull(Type.String()),
    zone: orNull(Type.String()),
    everySeconds: orNull(Type.Number()),
    nextDueAt: Instant,
    lastDueAt: orNull(Instant),
  },
  { title: 'Schedule' },
)

const listSchedules = operator({
  ...common,
  id: 'listSchedules',
  method: 'GET',
  path: '/api/v1/schedules',
  summary: 'List the job schedulers: when each was due last and is due next',
  answer: { about: 'None before the first worker.', schema: pageOf(Schedule) },
  handler: async ({ queues }) => onlyPage(await queues.schedules()),
})

const runSchedule = operator({
  ...common,
  id: 'runSchedule',
  method: 'POST',
  path: '/api/v1/schedules/{name}/run',
  summary: 'Do the work of a schedule now, once; a worker starts it within five seconds',
  params: object({
    name: Type.String({
      minLength: 1,
      maxLength: 100,
      description: 'As the list of them names it.',
    }),
  }),
  answer: {
    about: 'Since when it is due.',
    schema: object({ name: Type.String(), dueAt: Instant }),
  },
  problems: ['not_found'],
  example: { params: { name: 'sync-routes' } },
  logs: 'schedule run',
  handler: async ({ db, queues }, { params: { name }, caller }) => {
    const dueAt = await queues.run(name)
    if (dueAt === undefined) {
      const known = (await queues.schedules()).map((schedule) => schedule.name)
      const names = known.length === 0 ? 'the first worker writes them' : known.join(', ')
      throw new ProblemError('not_found', { detail: `there is no schedule "${name}": ${names}` })
    }
    await recordAction(db, { by: caller.limitKey, action: 'schedule run', target: name })
    return { name, dueAt }
  },
})

/** The queues and the schedules, for operators. */
export const QUEUE_OPERATIONS = [listJobs, retry, drop, listSchedules, runSchedule]
