import { Type } from 'typebox'
import { closeIncident } from '../fares/incidents.ts'
import { MASS_KINDS } from '../platform/base/change-kinds.ts'
import type { Clock } from '../platform/base/clock.ts'
import { PAUSED_WORK } from '../platform/base/kinds.ts'
import type { Logger } from '../platform/base/logger.ts'
import { type AuditEntry, listActions, recordAction } from '../platform/db/audit.ts'
import type { Db } from '../platform/db/database.ts'
import { addPause, endPauses, listPauses } from '../platform/db/pauses.ts'
import { logOperation, operations } from '../platform/http/operation.ts'
import { cursorsOf, onlyPage, PAGED, pageOf } from '../platform/http/pages.ts'
import { ProblemError } from '../platform/http/problems.ts'
import { Instant, object, oneOf, orNull, RowId } from '../platform/http/schemas.ts'
import { budgetFor, expectedDelays, planBudget, readFareGroups } from '../schedule/budget.ts'
import {
  endBudgetLimit,
  limitBudget,
  presentRate,
  readBudgetLimit,
} from '../upstream/budget/budget-limit.ts'
import { BudgetLimitShape, PauseShape } from './control-shapes.ts'

interface ControlDeps {
  readonly db: Db
  readonly log: Logger
  readonly clock: Clock
  /** The budget of upstream requests for all processes together. */
  readonly requestsPerSecond: number
  /** The shortest time between two checks of a fare. */
  readonly minRecheckSeconds: number
}

const { operator } = operations<ControlDeps>()

const common = { tag: 'Operators', scope: 'operate' } as const

const Reason = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: '\\S',
  description: 'Shown wherever the state is shown.',
})
const Later = Type.String({ format: 'date-time' })
const what = Type.Array(oneOf(PAUSED_WORK), { minItems: 1, maxItems: PAUSED_WORK.length })
const Pauses = pageOf(PauseShape)

const readPauses = operator({
  ...common,
  id: 'listPauses',
  method: 'GET',
  path: '/api/v1/pauses',
  summary: 'List the pauses that run or are planned, by their start',
  answer: { about: 'The pauses.', schema: Pauses },
  handler: async ({ db }) => onlyPage(await listPauses(db)),
})

const pause = operator({
  ...common,
  id: 'pauseWork',
  method: 'POST',
  path: '/api/v1/pauses',
  summary: 'Pause checks, syncs or deliveries, now or at a planned time',
  description:
    'All processes follow within seconds. What is in progress ends, and what is due waits. A pause of the checks also stops ' +
    'questions on demand, one of deliveries also tests of endpoints.',
  body: object({
    what,
    reason: Reason,
    from: Type.Optional(Type.String({ format: 'date-time', description: 'Default: now.' })),
    until: Type.Optional(
      Type.String({ format: 'date-time', description: 'Default: until it is resumed.' }),
    ),
  }),
  answer: { about: 'The new pauses, one of each work.', schema: Pauses },
  example: { body: { what: ['syncs'], until: '2999-01-01T00:00:00Z', reason: 'maintenance' } },
  handler: async ({ db, clock, log }, { body, caller, request }) => {
    const from = body.from === undefined ? undefined : new Date(body.from)
    const until = body.until === undefined ? undefined : laterThan(from ?? clock.now(), body.until)
    const { reason } = body
    const made = { what: [...new Set(body.what)], from, until, reason }
    logOperation(log, { caller, request }, { event: 'work paused', ...made })
    return onlyPage(await addPause(db, { ...made, by: caller.limitKey }))
  },
})

const resume = operator({
  ...common,
  id: 'resumeWork',
  method: 'POST',
  path: '/api/v1/pauses/end',
  summary: 'End the running pauses of some work',
  body: object({
    what,
    planned: Type.Optional(
      Type.Boolean({ description: 'Whether pauses that have not begun are cancelled too.' }),
    ),
  }),
  answer: { about: 'The pauses that it ended.', schema: Pauses },
  example: { body: { what: ['checks'] } },
  handler: async ({ db, log }, { body: { what, planned = false }, caller, request }) => {
    logOperation(log, { caller, request }, { event: 'work resumed', what })
    return onlyPage(await endPauses(db, { what, planned, by: caller.limitKey }))
  },
})

/** The instant of a text. Throws `request.invalid_body` for one that is not later. */
function laterThan(earlier: Date, text: string): Date {
  const instant = new Date(text)
  if (instant > earlier) return instant
  throw new ProblemError('request.invalid_body', {
    pointer: '/until',
    detail: `until must be later than ${earlier.toISOString()}`,
  })
}

const Limit = object(
  {
    requestsPerSecond: Type.Number({ description: 'The setting, above which no limit goes.' }),
    limit: orNull(BudgetLimitShape, 'Null if there is no limit.'),
  },
  { title: 'BudgetLimit' },
)
const limits = {
  ...common,
  path: '/api/v1/budget/limit',
  answer: { about: 'The budget and its limit.', schema: Limit },
} as const

async function shownLimit({ db, requestsPerSecond }: ControlDeps) {
  return { requestsPerSecond, limit: (await readBudgetLimit(db)) ?? null }
}

const readLimit = operator({
  ...limits,
  id: 'readBudgetLimit',
  method: 'GET',
  summary: 'Read the limit of the budget that is in force',
  handler: shownLimit,
})

const setLimit = operator({
  ...limits,
  id: 'limitBudget',
  method: 'PUT',
  summary: 'Limit the budget of all processes for a while',
  body: object({
    requestsPerSecond: Type.Number({ minimum: 0.01, maximum: 10_000 }),
    until: Later,
    reason: Reason,
  }),
  example: { body: { requestsPerSecond: 2, until: '2999-01-01T00:00:00Z', reason: 'it is slow' } },
  handler: async (deps, { body, caller, request }) => {
    const { db, clock, log, requestsPerSecond } = deps
    if (body.requestsPerSecond >= requestsPerSecond) {
      throw new ProblemError('request.invalid_body', {
        pointer: '/requestsPerSecond',
        detail: `the budget is ${requestsPerSecond} requests a second: a limit must be below it`,
      })
    }
    const until = laterThan(clock.now(), body.until)
    await limitBudget(db, { ...body, until, by: caller.limitKey })
    logOperation(log, { caller, request }, { event: 'budget limited', ...body })
    return shownLimit(deps)
  },
})

const endLimit = operator({
  ...limits,
  id: 'endBudgetLimit',
  method: 'DELETE',
  summary: 'End the limit of the budget',
  logs: 'budget limit ended',
  handler: async (deps, { caller }) => {
    await endBudgetLimit(deps.db, caller.limitKey)
    return shownLimit(deps)
  },
})

const Rate = Type.Number({ description: 'Requests a second.' })

const plan = operator({
  ...common,
  id: 'planBudget',
  method: 'GET',
  path: '/api/v1/budget/plan',
  summary: 'Read which budget detects 95 % of the changes within a delay',
  query: object({
    fares: Type.Integer({
      minimum: 1,
      maximum: 100_000_000,
      description: 'How many fares are watched.',
    }),
    delaySeconds: Type.Number({
      minimum: 1,
      maximum: 30 * 86_400,
      description: 'Within how long 95 % of the changes are to be detected.',
    }),
  }),
  answer: {
    about: 'The budget for that many fares, and what the present fares get and need.',
    schema: object(
      {
        fares: Type.Integer(),
        intervalSeconds: Type.Number({ description: 'The time between two checks of a fare.' }),
        requestsPerSecond: Rate,
        withLanesRequestsPerSecond: Type.Number({
          description:
            'With room for confirmations, first checks, retries and questions on demand, at most.',
        }),
        p50Seconds: Type.Number({ description: 'Half of the changes are detected within it.' }),
        p95Seconds: Type.Number(),
        present: object({
          fares: Type.Integer(),
          requestsPerSecond: Type.Number({ description: 'By the setting, or by a limit.' }),
          limitedUntil: orNull(Instant),
          delays: orNull(
            object({ p50Seconds: Type.Number(), p95Seconds: Type.Number() }),
            'Null if no change is expected.',
          ),
          neededRequestsPerSecond: orNull(Rate, 'Null if no budget suffices for the delay.'),
        }),
      },
      { title: 'BudgetPlan' },
    ),
  },
  problems: ['request.invalid_parameter'],
  example: { query: { fares: '20000', delaySeconds: '300' } },
  handler: async (
    { db, requestsPerSecond: setting, minRecheckSeconds },
    { query: { fares, delaySeconds } },
  ) => {
    const planned = planBudget({ fares, delaySeconds })
    if (planned.intervalSeconds < minRecheckSeconds) {
      const best = Math.ceil(0.95 * minRecheckSeconds)
      throw new ProblemError('request.invalid_parameter', {
        parameter: 'delaySeconds',
        detail: `MIN_INTERVAL_SECONDS is ${minRecheckSeconds}: no fare is checked sooner, so 95 % of the changes are detected within ${best} s at best, not ${delaySeconds} s`,
      })
    }
    const groups = await readFareGroups(db, minRecheckSeconds)
    const limit = await readBudgetLimit(db)
    const requestsPerSecond = presentRate(setting, limit)
    const present = {
      fares: groups.reduce((sum, group) => sum + group.fares, 0),
      requestsPerSecond,
      limitedUntil: limit?.until ?? null,
      delays: expectedDelays(groups, requestsPerSecond),
      neededRequestsPerSecond: budgetFor(groups, delaySeconds),
    }
    return { fares, ...planned, present }
  },
})

const close = operator({
  ...common,
  id: 'closeIncident',
  method: 'POST',
  path: '/api/v1/incidents/close',
  summary: 'Close the open incident of a kind, and release what waits',
  description:
    'Close it only if the selling site shows that the changes are true. What began to wait before now is checked again, and ' +
    'recorded by its usual answers; ends of `mass_expiry` come at once. What begins later is held if it makes a mass again.',
  body: object({ kind: oneOf(MASS_KINDS) }),
  answer: {
    about: 'The incident.',
    schema: object({
      id: RowId,
      kind: oneOf(MASS_KINDS),
      openedAt: Instant,
      askedAgain: Type.Integer({ description: 'How many fares have waited.' }),
    }),
  },
  problems: ['incident.none_open'],
  example: { body: { kind: 'mass_expiry' } },
  handler: async ({ db, log }, { body: { kind }, caller }) => {
    const { id, openedAt, askedAgain } = await closeIncident({ db, log }, kind)
    await recordAction(db, { by: caller.limitKey, action: 'incident closed', target: kind })
    return { id, kind, openedAt, askedAgain }
  },
})

const cursors = cursorsOf('audit', RowId, ({ id }: AuditEntry) => id)

const audit = operator({
  ...common,
  id: 'listActions',
  method: 'GET',
  path: '/api/v1/audit',
  summary: 'List what operators changed, the latest first',
  ...PAGED,
  answer: {
    about: 'A page of changes.',
    schema: pageOf(
      object(
        {
          id: RowId,
          at: Instant,
          by: Type.String({ description: 'The key, or `cli`.' }),
          action: Type.String(),
          target: orNull(Type.String()),
          reason: orNull(Type.String()),
        },
        { title: 'Action' },
      ),
    ),
  },
  handler: ({ db }, { query }) =>
    cursors.page(query, ({ after: before, limit }) => listActions(db, { before, limit })),
})

/** What operators stop, limit and release, and the record of what they did. */
export const CONTROL_OPERATIONS = [
  readPauses,
  pause,
  resume,
  readLimit,
  setLimit,
  endLimit,
  plan,
  close,
  audit,
]
