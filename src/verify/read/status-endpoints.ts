import { type Static, Type } from 'typebox'
import type { Caller } from '../../http/caller.ts'
import { operations } from '../../http/operation.ts'
import { Instant } from '../../http/read-parameters.ts'
import { readStatus, type Status, type StatusDeps } from './read-status.ts'

const { shared } = operations<StatusDeps>()

const CLOSED = { additionalProperties: false }
const ListName = Type.Union([Type.Literal('routes'), Type.Literal('with-availability')])
const MaybeInstant = Type.Union([Instant, Type.Null()])

const List = Type.Object(
  {
    list: ListName,
    lastSuccessAt: Type.Union([Instant, Type.Null()], {
      description: 'When the last list that was believed was fetched.',
    }),
    lastAttemptAt: MaybeInstant,
    held: Type.Integer({ description: 'Lists that wait for review.' }),
  },
  CLOSED,
)

const HeldRun = Type.Object(
  {
    runId: Type.Integer(),
    list: ListName,
    fetchedAt: MaybeInstant,
    reason: Type.Union([
      Type.Object({ code: Type.String(), text: Type.String() }, CLOSED),
      Type.Null(),
    ]),
  },
  CLOSED,
)

const Seconds = Type.Number({ minimum: 0 })
const Beliefs = Type.Object(
  {
    fares: Type.Integer({ description: 'Fares that are checked.' }),
    unanswered: Type.Integer({ description: 'Of those, the ones that were never well answered.' }),
    stale: Type.Integer({
      description: 'Of the others, the ones whose belief is too old to be shown as known.',
    }),
    ageSeconds: Type.Union(
      [
        Type.Object({ p50: Seconds, p90: Seconds, p99: Seconds, max: Seconds }, CLOSED),
        Type.Null(),
      ],
      { description: 'Since the last good check began; null where there was none.' },
    ),
  },
  { ...CLOSED, description: 'Of a reseller the fares that it watches, of an operator all.' },
)

const Upstream = Type.Object(
  {
    pausedUntil: Type.Union([Instant, Type.Null()], {
      description: 'Until when the upstream asked us to pause.',
    }),
    openBreakers: Type.Array(
      Type.Object(
        {
          endpoint: Type.Enum(['lists', 'verify']),
          breaker: Type.Enum(['auth', 'errors']),
          since: Instant,
        },
        CLOSED,
      ),
      { description: 'What is left alone, but for single probes.' },
    ),
  },
  CLOSED,
)

const Budget = Type.Object(
  {
    requestsPerSecond: Type.Number({ description: 'Of all processes together.' }),
    share: Type.Number({
      description:
        'The part that may be spent now: below 1 after the upstream asked for less, 0 during a pause.',
    }),
    aheadSeconds: Type.Number({
      description: 'How far ahead slots are given away: about 5 where all of it is taken.',
    }),
    checksLastMinute: Type.Integer({ description: 'Of the last whole minute.' }),
    unknownLastMinute: Type.Integer({ description: 'Of those, the checks that told nothing.' }),
    used: Type.Number({ description: 'The part of the whole budget that those checks took.' }),
  },
  CLOSED,
)

const StatusAnswer = Type.Object(
  {
    at: Instant,
    lists: Type.Array(List),
    heldRuns: Type.Array(HeldRun, { description: 'The oldest ten.' }),
    beliefs: Beliefs,
    upstream: Upstream,
    incidents: Type.Array(
      Type.Object(
        { kind: Type.Enum(['mass_loss', 'upstream_trouble']), openedAt: Instant },
        CLOSED,
      ),
      { description: 'Those that are open: losses are held meanwhile.' },
    ),
    budget: Type.Union([Budget, Type.Null()], {
      description: 'For operators; null for a reseller, to whom it would tell what others ask.',
    }),
    versions: Type.Object(
      { farewatch: Type.String(), schema: Type.String(), postgresql: Type.String() },
      CLOSED,
    ),
  },
  CLOSED,
)

const EXAMPLE = {
  at: '2026-01-31T05:00:00.000Z',
  lists: [
    {
      list: 'routes',
      lastSuccessAt: '2026-01-31T04:00:01.000Z',
      lastAttemptAt: '2026-01-31T04:00:00.000Z',
      held: 0,
    },
  ],
  heldRuns: [],
  beliefs: {
    fares: 1_200,
    unanswered: 3,
    stale: 0,
    ageSeconds: { p50: 118.2, p90: 214.7, p99: 238.1, max: 241.9 },
  },
  upstream: { pausedUntil: null, openBreakers: [] },
  incidents: [],
  budget: {
    requestsPerSecond: 5,
    share: 1,
    aheadSeconds: 4.8,
    checksLastMinute: 297,
    unknownLastMinute: 2,
    used: 0.99,
  },
  versions: { farewatch: '0.1.0', schema: '0014_api_keys', postgresql: '18.4' },
}

const showStatus = shared({
  id: 'readStatus',
  method: 'GET',
  path: '/api/v1/status',
  tag: 'Freshness',
  summary: 'How fresh and how true what we hold is',
  scope: 'read',
  answer: {
    about: 'The state of the lists, of beliefs, and of the upstream.',
    schema: StatusAnswer,
  },
  example: { answer: EXAMPLE },
  handler: async (deps, { caller }) => answerOf(await readStatus(deps, tellingOf(caller))),
})

/** How fresh what we hold is. */
export const STATUS_OPERATIONS = [showStatus]

function tellingOf(caller: Caller): Parameters<typeof readStatus>[1] {
  return caller.kind === 'reseller' ? { resellerId: caller.resellerId } : {}
}

/** Arrays that whoever sends them may change. */
function answerOf(status: Status): Static<typeof StatusAnswer> {
  return {
    ...status,
    lists: [...status.lists],
    heldRuns: [...status.heldRuns],
    incidents: [...status.incidents],
    upstream: { ...status.upstream, openBreakers: [...status.upstream.openBreakers] },
  }
}
