import { type Static, Type } from 'typebox'
import { Instant, instant, object, oneOf, orNull } from '../platform/http/schemas.ts'
import { ListName, Reason } from '../routes/read/sync-run-operations.ts'
import { AnswerHabitShape } from '../views/answer-operations.ts'
import { BudgetLimitShape, PauseShape } from '../views/control-shapes.ts'
import { CHANGE_WAITS, DELAY_GROUPS } from '../views/detection-delays.ts'
import { HeldFaresShape, IncidentShape } from '../views/incident-operations.ts'

const { kind, openedAt } = IncidentShape.properties
const MaybeInstant = orNull(Instant)

const List = object({
  list: ListName,
  lastSuccessAt: orNull(Instant, 'When the last accepted list was fetched.'),
  lastAttemptAt: MaybeInstant,
  nextDueAt: orNull(Instant, 'When the next list is due to be fetched.'),
  intervalSeconds: orNull(
    Type.Number(),
    'The longest time between two due times. Null as `nextDueAt`: until a worker has started, or while the queue is down.',
  ),
  held: Type.Integer({ description: 'Number of lists that wait for review.' }),
})

const HeldRun = object({
  runId: Type.Integer(),
  list: ListName,
  since: instant('When the first of the lists that agree was held.'),
  lists: Type.Integer({ description: 'Lists in a row that agree.' }),
  reason: orNull(Reason),
  rejectedAt: orNull(Instant, 'When an operator rejected a list that agrees with it.'),
  releasableAt: orNull(
    Instant,
    'From when on a list that agrees with it is applied without an operator, if enough lists agree. Null: an operator decides.',
  ),
})

const Seconds = Type.Number({ minimum: 0 })
const Beliefs = object(
  {
    fares: Type.Integer({ description: 'Number of fares that are checked.' }),
    unanswered: Type.Integer({ description: 'How many of them never had a good check.' }),
    stale: Type.Integer({
      description: 'How many of the others have a belief that is too old to be shown as known.',
    }),
    silent: Type.Integer({
      description:
        'How many had a good check, and are shown as unknown because their last answers, five or more, were unusable.',
    }),
    silentReason: orNull(Type.String(), 'The most frequent reason of those answers.'),
    ageSeconds: orNull(
      object({ p50: Seconds, p90: Seconds, p99: Seconds, max: Seconds }),
      'Age of the last good check. Null if there was none.',
    ),
  },
  {
    description:
      'For a reseller the fares that it watches, for an operator all fares; of more than 20,000, a sample of them.',
  },
)

const Upstream = object({
  pausedUntil: orNull(Instant, 'When the pause that the upstream asked for ends.'),
  openBreakers: Type.Array(
    object({
      endpoint: oneOf(['lists', 'verify']),
      breaker: oneOf(['auth', 'errors']),
      since: Instant,
      cause: orNull(
        Type.String(),
        'How the last failed call ended: `ECONNREFUSED`, `401`, `timeout`. Null if not known.',
      ),
      lastGoodAt: orNull(Instant, 'When the last successful call was made. Null if not known.'),
    }),
    { description: 'Endpoints that receive only single probes, and why.' },
  ),
})

const Budget = object({
  requestsPerSecond: Type.Number({ description: 'For all processes together.' }),
  share: Type.Number({
    description:
      'The share that may be used now: below 1 after the upstream has limited the rate, 0 during a pause.',
  }),
  aheadSeconds: Type.Number({
    description: 'How far ahead slots are reserved. About 5 if the whole budget is used.',
  }),
  checksLastMinute: Type.Integer({ description: 'Number of checks in the last whole minute.' }),
  unknownLastMinute: Type.Integer({ description: 'How many of them were unknown.' }),
  used: Type.Number({ description: 'The share of the whole budget that those checks used.' }),
  limit: orNull(
    BudgetLimitShape,
    'What operators allow for a while instead. Null if there is no limit.',
  ),
})

const Count = Type.Integer({ minimum: 0 })
const MaybeSeconds = orNull(Type.Number(), 'Seconds since 1970. Null if none waits.')
const Deliveries = object(
  {
    pending: Count,
    dead: Count,
    diedLastHour: Count,
    failingForHours: Count,
    endpoints: object({ healthy: Count, busy: Count, failing: Count }),
    oldest: object({ healthy: MaybeSeconds, busy: MaybeSeconds, failing: MaybeSeconds }),
    oldestPendingAt: orNull(
      Instant,
      'When the oldest pending record was written, also one that waits for its next attempt.',
    ),
    disabled: object({
      paused: Type.Optional(Count),
      gone: Type.Optional(Count),
      failing: Type.Optional(Count),
      not_allowed: Type.Optional(Count),
    }),
    unreached: Type.Array(
      object({
        id: Type.String(),
        reseller: Type.String(),
        reason: orNull(oneOf(['gone', 'failing']), 'Null while it is enabled.'),
        failingSince: MaybeInstant,
        forHours: Type.Boolean({ description: 'As in `failingForHours`.' }),
      }),
      {
        description:
          'Endpoints that are disabled because of their receiver, or fail: at most five of a kind. Empty for a reseller.',
      },
    ),
  },
  {
    description:
      'For a reseller its own deliveries, for an operator all. `endpoints`: how many are enabled, by condition. `busy`: as ' +
      'many requests as an endpoint may have are in progress. `failing`: the last attempt failed, or the receiver asked for ' +
      'a pause. `oldest`: since when the longest-waiting delivery is due, by the condition of its endpoint. `disabled`: how ' +
      'many endpoints receive nothing, by reason. `diedLastHour`: how many deliveries ended without success in the last ' +
      'hour. `failingForHours`: at how many enabled endpoints every attempt has failed for two hours.',
  },
)

const Contradicted = orNull(
  object({
    fares: Count,
    since: orNull(Instant, 'When the first answer began that contradicts the belief.'),
    until: orNull(Instant, 'When the last of their next confirmations is due.'),
    waits: Type.Array(
      object({
        wait: oneOf(CHANGE_WAITS, {
          description:
            'confirmation: for more answers. late: the same, for over five minutes. held: many flights change at once.',
        }),
        fares: Count,
        since: Instant,
      }),
      { description: 'The same by how they wait.' },
    ),
  }),
  'The fares whose last answers contradict what was known: their changes wait for a record. Null if there are none, and for a reseller.',
)

const Process = object({
  role: Type.String({
    description:
      '`worker`, `api`, `worker+api`, or some of `sync`, `check` and `deliver` in place of `worker`, such as `sync+check`.',
  }),
  version: Type.String(),
  host: Type.String(),
  pid: Type.Integer(),
  startedAt: Instant,
  lastProgressAt: Instant,
  clockAheadSeconds: orNull(
    Type.Number(),
    'By how much its clock is ahead of the database’s; below 0 if it is behind. Null until it is measured.',
  ),
})

const Queue = object({
  kind: oneOf(['postgres', 'redis']),
  fault: orNull(Type.String(), 'Why the store is unavailable. Null if it is available.'),
  lastTick: orNull(
    object({
      name: Type.String(),
      at: Instant,
      failure: orNull(Type.String(), 'Null if it succeeded.'),
    }),
    'The last run of a tick that one process runs for all.',
  ),
  queues: Type.Array(
    object({ queue: Type.String(), waiting: Count, active: Count, delayed: Count, dead: Count }),
  ),
})

/** What a warning is about. */
const WARNING_SUBJECTS = [
  'routes',
  'fares',
  'delay',
  'upstream',
  'budget',
  'held',
  'incidents',
  'deliveries',
  'work',
] as const

const WarningShape = object(
  {
    about: oneOf(WARNING_SUBJECTS),
    code: Type.String({
      description: 'A stable name, such as `list_overdue`. /docs/runbooks has a section about it.',
    }),
    level: oneOf(['warn', 'bad'], { description: '`bad`: an operator must act.' }),
    subject: orNull(Type.String(), 'The list or reseller that it names. Null if it names none.'),
    text: Type.String({ description: 'A sentence.' }),
    since: MaybeInstant,
    until: orNull(Instant, 'When it ends by itself. Null if it does not, or if that is not known.'),
    command: orNull(Type.String(), 'The command that shows more. Null for a reseller.'),
    todo: orNull(Type.String(), 'What an operator does. Null for a reseller.'),
  },
  { title: 'StatusWarning' },
)

const Delay = object({ p50: Seconds, p95: Seconds })
const DetectionDelayShape = object({
  priority: oneOf(DELAY_GROUPS, {
    description:
      'The highest priority of the present watches of the changed fares. all: all changes.',
  }),
  changes: Type.Integer({ description: 'Number of changes.' }),
  waiting: Type.Integer({
    description: 'How many of them wait for their record. Each has waited until now.',
  }),
  midpointSeconds: Delay,
  atMostSeconds: Delay,
})

/** How fresh and how reliable the data is at one moment. */
export const StatusShape = object(
  {
    at: Instant,
    lists: Type.Array(List),
    heldRuns: Type.Array(HeldRun, { description: 'At most one of each list.' }),
    beliefs: Beliefs,
    upstream: Upstream,
    pauses: Type.Array(PauseShape, {
      description: 'What operators have paused, or will pause, by the start.',
    }),
    incidents: Type.Array(object({ kind, openedAt }), {
      description: 'Open incidents. While one is open, changes of its kind wait.',
    }),
    held: Type.Array(HeldFaresShape, {
      description:
        'What waits because many flights change at once: for a reseller, of the fares that it watches. Each change waits ' +
        'for MASS_HOLD_MINUTES at most.',
    }),
    budget: orNull(
      Budget,
      'For operators. Null for a reseller: it would show what other resellers watch.',
    ),
    detectionDelays: orNull(
      Type.Array(DetectionDelayShape),
      'How late the changes of the last day were recorded, in seconds. A change happened between the last good check that ' +
        'did not show it and the first check that did. `atMostSeconds` is the time from the first of them to the record, ' +
        'or until now if it waits, `midpointSeconds` from the middle of the two. Empty without changes. Null for a reseller.',
    ),
    unkeptMaxDelays: Type.Array(
      object({
        reseller: Type.String(),
        fares: Type.Integer({ description: 'Number of its fares with a `maxDelaySeconds`.' }),
        tooShort: Type.Integer({
          description:
            'How many of these have one below the minimum interval between two checks (`MIN_INTERVAL_SECONDS`): they are ' +
            'checked no sooner than that.',
        }),
        neededPerSecond: Type.Number({
          description:
            'The checks a second that these need. One that is too short counts as the minimum interval.',
        }),
        allowedPerSecond: Type.Number({
          description: 'The checks a second that its share allows for them.',
        }),
      }),
      {
        description:
          'Resellers whose `maxDelaySeconds` were accepted and are not kept now, at most ten. If `neededPerSecond` is above ' +
          '`allowedPerSecond`, all of these checks come later in proportion: the share or the budget is smaller than before, ' +
          'the minimum interval has changed, or watches that had ended have begun again. If `tooShort` is above 0, the ' +
          'minimum interval has been raised. For a reseller only itself.',
      },
    ),
    deliveries: Deliveries,
    contradicted: Contradicted,
    unusualAnswers: orNull(
      Type.Array(AnswerHabitShape),
      'What answers of the last hour had that the interface does not have and that is not usual. Null for a reseller.',
    ),
    queue: orNull(Queue, 'The queues of jobs. Null for a reseller.'),
    processes: orNull(
      Type.Array(Process, { description: 'By their start.' }),
      'Every worker and API that runs, or did not stop in order. Null for a reseller.',
    ),
    disk: orNull(
      object({ freeBytes: Type.Integer(), totalBytes: Type.Integer() }),
      'The disk of the database. Null if it is on another machine, and for a reseller.',
    ),
    routes: orNull(object({ live: Count, available: Count }), 'Null for a reseller.'),
    feeds: orNull(
      Type.Array(
        object({
          feed: Type.String(),
          lastSeq: Count,
          lastRecordAt: Type.Number({ description: 'Seconds since 1970; 0 before the first.' }),
        }),
      ),
      'The feeds; those of all resellers are one. Null for a reseller.',
    ),
    readOnly: Type.Boolean({ description: 'Whether PostgreSQL takes no writes now.' }),
    warnings: Type.Array(WarningShape, {
      description: 'What is not well, the worst first. Empty if all is well.',
    }),
    demo: orNull(
      object({
        historySince: MaybeInstant,
        historyUntil: orNull(Instant, 'The history from `historySince` to it was made up.'),
        flightId: orNull(
          Type.String(),
          'A flight of the sandbox that can be booked, and that the demo did not watch at its start.',
        ),
      }),
      'What an embedded sandbox has brought. Null if it never was the upstream.',
    ),
    versions: object({
      farewatch: Type.String(),
      schema: Type.String(),
      postgresql: Type.String(),
    }),
  },
  { title: 'Status' },
)

export type Status = Static<typeof StatusShape>
export type BudgetUse = Static<typeof Budget>
export type QueueState = Static<typeof Queue>
/** A worker or an API of any host, running or not stopped in order. */
export type KnownProcess = Static<typeof Process>
export type StatusWarning = Static<typeof WarningShape>
/** What stops calls to the upstream: a pause that it asked for, and open circuit breakers. */
export type UpstreamState = Static<typeof Upstream>
