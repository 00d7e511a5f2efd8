import { Type } from 'typebox'
import type { Logger } from '../platform/base/logger.ts'
import { recordOperation } from '../platform/db/audit.ts'
import type { Db } from '../platform/db/database.ts'
import { operations } from '../platform/http/operation.ts'
import { onlyPage, pageOf } from '../platform/http/pages.ts'
import { Instant, object, orNull } from '../platform/http/schemas.ts'
import { acceptHabit, listHabits } from '../upstream/flights/answer-habits.ts'

export const AnswerHabitShape = object(
  {
    name: Type.String({
      description:
        'A member that the interface does not have, or `total_unlike_sum` for totals that are not the sum of their passengers.',
    }),
    answers: Type.Integer({ description: 'How many answers have had it.' }),
    share: Type.Number({
      description:
        'Its share of about the last hundred answers that agree with a believed “unavailable”; of totals, of those that show a price.',
    }),
    isUsual: Type.Boolean({
      description:
        'Whether such answers count: an operator has accepted it, or most have had it for a day.',
    }),
    isRecent: Type.Boolean({ description: 'Whether an answer of the last hour had it.' }),
    firstSeenAt: Instant,
    lastSeenAt: Instant,
    acceptedAt: orNull(Instant, 'Null if no operator has accepted it.'),
  },
  { title: 'AnswerHabit' },
)

const { operator } = operations<{ readonly db: Db; readonly log: Logger }>()

const common = { tag: 'Operators', scope: 'operate' } as const

const listAll = operator({
  ...common,
  id: 'listAnswerHabits',
  method: 'GET',
  path: '/api/v1/answer-habits',
  summary: 'List what answers of the upstream have that its interface does not have',
  description:
    'The latest first: a hundred, and what operators have accepted. Those that no answer had for a day go.',
  answer: {
    about: 'The names.',
    schema: pageOf(AnswerHabitShape),
  },
  handler: async ({ db }) => onlyPage(await listHabits(db)),
})

const accept = operator({
  ...common,
  id: 'acceptAnswerHabit',
  method: 'PATCH',
  path: '/api/v1/answer-habits/{name}',
  summary: 'Accept that answers of the upstream have it, or take that back',
  description:
    'From then on such answers count. Accept it only if the upstream says so: a member may say that an answer is none.',
  params: object({
    name: Type.String({
      minLength: 1,
      maxLength: 40,
      description: 'The name, as the list has it.',
    }),
  }),
  body: object({ accepted: Type.Boolean() }),
  answer: { about: 'The name.', schema: AnswerHabitShape },
  example: { params: { name: 'seats' }, body: { accepted: true } },
  handler: async (deps, { params: { name }, body: { accepted }, ...checked }) => {
    const habit = await acceptHabit(deps.db, name, accepted)
    const action = accepted ? 'answers accepted' : 'acceptance of answers taken back'
    await recordOperation(deps, checked, { action, target: name, name })
    return habit
  },
})

/** What answers have that the interface does not have, for operators. */
export const ANSWER_OPERATIONS = [listAll, accept]
