import { Type } from 'typebox'
import { BUDGET_LANES } from '../platform/base/kinds.ts'
import type { Db } from '../platform/db/database.ts'
import { operations } from '../platform/http/operation.ts'
import { Instant, object, oneOf, orNull } from '../platform/http/schemas.ts'
import { readCallSeries, SERIES_MINUTES, SHOWN_RESELLERS } from './call-series.ts'

const { operator } = operations<{ readonly db: Db }>()

const Calls = Type.Array(Type.Number(), {
  description: `Calls in each of ${SERIES_MINUTES} minutes, the oldest first. A call is counted in equal parts for all resellers of its fare, also for those that did not pay for it.`,
})

const readCalls = operator({
  id: 'readBudgetCalls',
  method: 'GET',
  path: '/api/v1/budget/calls',
  tag: 'Operators',
  summary: 'Read where the calls of the last hour went, by minute',
  description:
    'Slots of the budget that were taken, by lane, by reseller and by priority. The counts of a process that was killed ' +
    'lack up to ten seconds.',
  scope: 'operate',
  answer: {
    about: 'The calls.',
    schema: object(
      {
        since: Instant,
        byLane: Type.Array(
          object({ lane: oneOf(BUDGET_LANES, { title: 'BudgetLane' }), calls: Calls }),
        ),
        byReseller: Type.Array(object({ reseller: orNull(Type.String()), calls: Calls }), {
          description: `The ${SHOWN_RESELLERS} with the most calls. Null: lists, questions on demand, and fares without a watch.`,
        }),
        byPriority: Type.Array(object({ priority: orNull(Type.String()), calls: Calls }), {
          description: 'By the priority of the watches. Null as above.',
        }),
      },
      { title: 'BudgetCalls' },
    ),
  },
  handler: ({ db }) => readCallSeries(db),
})

/** What the budget is spent on, for operators. */
export const BUDGET_OPERATIONS = [readCalls]
