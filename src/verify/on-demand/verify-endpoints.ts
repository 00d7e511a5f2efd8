import { Type } from 'typebox'
import type { Db } from '../../db/database.ts'
import { ignoreParameters } from '../../http/check-query.ts'
import { operations } from '../../http/operation.ts'
import { ProblemError } from '../../http/problems.ts'
import { MAX_FLIGHT_ID_CHARS } from '../../upstream/passenger-rules.ts'
import { ignoredCounts, questionOf, readMix } from './asked-question.ts'
import { VERIFY_EXAMPLE, VerifyResult } from './flight-endpoints.ts'
import type { OnDemand } from './on-demand.ts'
import type { SilenceReason, Unsaid } from './said.ts'
import { findYoungerObservation } from './younger-observation.ts'

export interface VerifyEndpointDeps {
  readonly db: Db
  readonly onDemand: OnDemand
}

const { shared } = operations<VerifyEndpointDeps>()

const DAY_SECONDS = 86_400
const count = (who: string) => Type.String({ description: `${who}, 0 to 12; no number: ignored.` })
const flightId = (description: string) =>
  Type.String({ minLength: 1, maxLength: MAX_FLIGHT_ID_CHARS, description })

const QUERY = Type.Object(
  {
    flightId: flightId('The outbound flight.'),
    returnFlightId: Type.Optional(flightId('The return flight.')),
    'residents[adults]': count('Resident adults'),
    'residents[children]': Type.Optional(count('Resident children')),
    'residents[infants]': Type.Optional(count('Resident infants')),
    'nonResidents[adults]': count('Non-resident adults'),
    'nonResidents[children]': Type.Optional(count('Non-resident children')),
    'nonResidents[infants]': Type.Optional(count('Non-resident infants')),
    maxAge: Type.Integer({
      minimum: 0,
      maximum: DAY_SECONDS,
      default: 0,
      description:
        'Of a fare that the caller watches an observation of the last so many seconds will do; 0: ask the upstream.',
    }),
  },
  { additionalProperties: false },
)

const verifyFares = shared({
  id: 'verifyFares',
  method: 'GET',
  path: '/api/v1/flights/fares/verify',
  tag: 'The upstream’s interface',
  summary: 'Whether a flight, and its return, can be booked now',
  description:
    'Asks the upstream, within its budget. There must be an adult, and no more infants than adults. What cannot be told of every flight is a 503 with the `reason`, never an `available` of false.',
  scope: 'read',
  upstream: true,
  query: QUERY,
  answer: {
    about: 'One entry a flight that was asked for, by its id.',
    schema: VerifyResult,
    headers: {
      'farewatch-observed-at':
        'Where `maxAge` let an observation do: when the upstream was asked. Missing: just now.',
    },
  },
  problems: ['verify.passenger_rule', 'verify.unknown'],
  example: {
    query: {
      flightId: '101500',
      returnFlightId: '101501',
      'residents[adults]': '0',
      'nonResidents[adults]': '2',
    },
    answer: VERIFY_EXAMPLE,
  },
  handler: async ({ db, onDemand }, { query, caller, readmit, reply }) => {
    const { maxAge, ...asked } = query
    const ignored = ignoredCounts(asked)
    if (ignored.length > 0) ignoreParameters(reply, ignored)
    const question = questionOf(asked, readMix(asked))
    reply.type('application/json; charset=utf-8')
    if (maxAge > 0 && caller.kind === 'reseller') {
      const tenant = { db, resellerId: caller.resellerId }
      const known = await findYoungerObservation(tenant, question, maxAge)
      if (known !== undefined) {
        reply.header('farewatch-observed-at', known.observedAt.toISOString())
        return reply.send(known.result)
      }
    }
    const said = await onDemand.ask(question)
    await readmit()
    if (said.kind === 'unknown') throw unknownProblem(said)
    return reply.send(said.result)
  },
})

/** The upstream's verification of fares, through our budget. */
export const VERIFY_OPERATIONS = [verifyFares]

/** Constant text: what the upstream sent beside its answer is for logs. */
const WHY: Readonly<Record<SilenceReason, string>> = {
  timeout: 'the upstream did not answer in time',
  network: 'the connection to the upstream failed',
  http_4xx: 'the upstream refused the question',
  http_5xx: 'the upstream failed',
  rate_limited: 'the upstream asked us to wait',
  auth: 'the upstream refused our credential',
  malformed: 'the upstream sent no readable answer',
  contract_violation: 'the answer of the upstream broke its interface',
  id_missing: 'the answer of the upstream left a flight out',
  identity_mismatch: 'the upstream answered with another flight',
  circuit_open: 'the upstream is left alone, for it is in trouble or asked us to wait',
  no_slot: 'the budget of requests to the upstream is spent',
  too_large: 'the answer of the upstream was too large',
  stopping: 'this process is stopping',
}

function unknownProblem({ reason, retryAfterMs }: Unsaid): ProblemError {
  return new ProblemError('verify.unknown', {
    reason,
    detail: WHY[reason],
    headers: { 'retry-after': String(Math.max(1, Math.ceil(retryAfterMs / 1000))) },
  })
}
