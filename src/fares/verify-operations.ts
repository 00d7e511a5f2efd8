import { type TString, Type } from 'typebox'
import type { Db } from '../platform/db/database.ts'
import { type Caller, operations } from '../platform/http/operation.ts'
import { ProblemError } from '../platform/http/problems.ts'
import { ignoreParameters } from '../platform/http/read-parameters.ts'
import { LANE_SHARE } from '../upstream/budget/reserve-slots.ts'
import {
  assertTwoFlights,
  MAX_FLIGHT_ID_CHARS,
  type Question,
  type QuestionField,
  questionFrom,
  TERM_FIELDS,
  valuesText,
  violatedIdRule,
  violatedPassengerRule,
} from '../upstream/question.ts'
import {
  type CallerKey,
  DETAILS,
  findCachedObservation,
  MAX_AGE_SECONDS,
  type OnDemand,
  type UnknownResult,
} from './verify.ts'

interface VerifyEndpointDeps {
  readonly db: Db
  readonly onDemand: OnDemand
  /** The budget of upstream requests for all processes together. */
  readonly requestsPerSecond: number
}

const { shared } = operations<VerifyEndpointDeps>()

/** The time in which the quota is stated, unless it allows no whole question in it. */
const POLICY_SECONDS = 5

const terms = TERM_FIELDS.map((field: QuestionField) => {
  const isNumber = field.schema.type === 'integer'
  const ignored = isNumber ? ' A value that is not a number is ignored.' : ''
  const text = Type.String({ description: `${field.label}, ${valuesText(field)}.${ignored}` })
  return [field.wire, field.required ? text : Type.Optional(text)] as const
})
const flightId = (description: string) =>
  Type.String({ minLength: 1, maxLength: MAX_FLIGHT_ID_CHARS, description })

const QUERY = Type.Object(
  {
    flightId: flightId('The outbound flight.'),
    returnFlightId: Type.Optional(flightId('The return flight.')),
    ...(Object.fromEntries(terms) as Record<TermName, TString>),
    maxAge: Type.Integer({
      minimum: 0,
      maximum: MAX_AGE_SECONDS,
      default: 0,
      description:
        'Accepts an answer that this endpoint received from the upstream at most this many seconds ago. 0 always asks the upstream.',
    }),
  },
  { additionalProperties: false },
)

/** A member of the flight data as the upstream sent it. The upstream does not always follow its interface. */
const asSent = (description: string) => Type.Optional(Type.Unknown({ description }))
/** The usual members of an object that the upstream sent. It may lack them, or be something else. */
const asSentWith = (description: string, properties: Readonly<Record<string, string>>) =>
  Type.Optional(
    Type.Unsafe<unknown>({
      description,
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, about]) => [name, { description: about }]),
      ),
    }),
  )

const WholeNumber = Type.Union([Type.Integer(), Type.String({ pattern: '^\\d+$' })], {
  description: 'A whole number. The upstream may send its digits as text.',
})
const Place = Type.Object(
  { id: WholeNumber, iata: asSent('Text.'), city: asSent('Text.'), country: asSent('Text.') },
  { title: 'VerifiedPlace' },
)
const Dates = Type.Object(
  { departure: Type.String(), arrival: Type.String() },
  { title: 'VerifiedTimes', description: 'Local times, `YYYY-MM-DD HH:MM`.' },
)
const Duration = asSentWith('Usually an object.', {
  human: 'Text, such as `1h 30m`.',
  seconds: 'A whole number.',
})
const Leg = Type.Object({
  from: Place,
  to: Place,
  number: WholeNumber,
  dates: Dates,
  duration: Duration,
  airline: asSent('Like the airline of the flight.'),
})

const Flight = Type.Object({
  from: Place,
  to: Place,
  legs: Type.Array(Leg, { minItems: 1 }),
  dates: Dates,
  duration: Duration,
  airline: Type.Object({
    id: WholeNumber,
    name: asSent('Text.'),
    twoLetterCode: asSent('Text.'),
  }),
  site: asSentWith('Usually an object.', {
    id: 'A whole number.',
    name: 'Text.',
    url: 'Text.',
    logo: 'Text.',
  }),
  id: asSent('The flight’s id: a whole number, or its digits as text.'),
  price: asSentWith('Usually an object. An unreadable price does not make a flight unavailable.', {
    currency: 'Text, such as `EUR`.',
    total:
      'For all passengers: decimal text with two places, such as `169.00`. The upstream may also send a number or other text.',
    residents:
      'For one `adult`, `child` and `infant`: numbers, or null if the question has none of them.',
    nonResidents: 'The same for non-residents.',
  }),
})

/** Only what farewatch compares of a flight is checked before it is passed on. */
export const VerifyResultShape = Type.Record(
  Type.String(),
  Type.Object(
    {
      available: Type.Boolean({ description: 'Whether the flight can be booked now.' }),
      flight: Type.Optional(
        Type.Unsafe<object>({
          ...Flight,
          description: 'Only if it is available: the flight as the upstream sent it.',
        }),
      ),
    },
    { additionalProperties: false, title: 'VerifiedFlight' },
  ),
  { title: 'VerifyResult' },
)

const verifyFares = shared({
  id: 'verifyFares',
  method: 'GET',
  path: '/api/v1/flights/fares/verify',
  tag: 'The upstream’s interface',
  summary: 'Check whether a flight, and its return flight, can be booked now',
  description:
    'Asks the upstream, within the budget of requests. There must be at least one adult, and no more infants than adults. If the availability of any of the flights is unknown, the answer is a 503 with the `reason`, never `available: false`.',
  scope: 'read',
  upstream: true,
  query: QUERY,
  answer: {
    about: 'One entry for each requested flight, by its id.',
    schema: VerifyResultShape,
    headers: {
      'farewatch-observed-at':
        'When the upstream was asked, if `maxAge` allowed a kept answer. Missing if the upstream was asked for this request.',
      'RateLimit-Policy':
        'The limit of requests (`default`), and how many questions all callers together may ask the upstream (`on-demand`): `q` questions in `w` seconds. Callers take turns.',
    },
  },
  problems: ['verify.passenger_rule', 'verify.same_flight', 'verify.unknown'],
  example: {
    query: {
      flightId: '101103205320',
      returnFlightId: '103101205390',
      'residents[adults]': '0',
      'nonResidents[adults]': '2',
    },
  },
  handler: async ({ db, onDemand, requestsPerSecond }, { query, reply, ...request }) => {
    const { maxAge, ...given } = query
    const ignored = ignoredTerms(given)
    if (ignored.length > 0) ignoreParameters(reply, ignored)
    const question = readQuestion(given)
    reply.type('application/json; charset=utf-8')
    if (maxAge > 0) {
      const cached = await findCachedObservation(db, question, maxAge)
      if (cached !== undefined) {
        reply.header('farewatch-observed-at', cached.askedAt.toISOString())
        return reply.send(cached.body)
      }
    }
    const policies = [reply.getHeader('ratelimit-policy'), onDemandPolicy(requestsPerSecond)]
    reply.header('ratelimit-policy', policies.join(', '))
    const caller = keyOf(request.caller)
    const result = await request.whileWaiting(() => onDemand.verify(question, caller))
    await request.reauthorize()
    if (result.kind === 'unknown') throw unknownProblem(result)
    return reply.send(result.body)
  },
})

/** All keys of a reseller are one caller. */
function keyOf(caller: Caller): CallerKey {
  return caller.kind === 'reseller' ? caller.resellerId : caller.limitKey
}

/** @example onDemandPolicy(5) // '"on-demand";q=10;w=5' */
export function onDemandPolicy(requestsPerSecond: number): string {
  const perSecond = requestsPerSecond * LANE_SHARE
  const seconds = Math.max(POLICY_SECONDS, Math.ceil(1 / perSecond))
  return `"on-demand";q=${Math.floor(perSecond * seconds)};w=${seconds}`
}

/** The upstream's verify endpoint, within our budget. */
export const VERIFY_OPERATIONS = [verifyFares]

function unknownProblem({ reason, retryAfterMs }: UnknownResult): ProblemError {
  return new ProblemError('verify.unknown', {
    reason,
    detail: DETAILS[reason],
    headers: { 'retry-after': String(Math.max(1, Math.ceil(retryAfterMs / 1000))) },
  })
}

type TermName = (typeof TERM_FIELDS)[number]['wire']

/** The parameters of a request, by their names. */
type Parameters = Readonly<Partial<Record<TermName, string>>>

/** The terms that mean nothing, such as counts that are not numbers. By the interface they are read as missing. */
export function ignoredTerms(given: Parameters): TermName[] {
  return TERM_FIELDS.filter(({ wire, meant }) => {
    const text = given[wire]
    return text !== undefined && meant(text) === undefined
  }).map(({ wire }) => wire)
}

/**
 * Reads the question of a request. Missing and ignored terms have their defaults. Throws a ProblemError that names
 * the parameter and the broken rule, or SameFlightError.
 */
export function readQuestion(
  given: Parameters & { readonly flightId: string; readonly returnFlightId?: string },
): Question {
  const texts: Readonly<Record<string, string | undefined>> = given
  const question = questionFrom(({ wire, ...field }) => {
    const text = texts[wire]
    if (field.isFlight && text !== undefined) return flightOf(wire, text)
    const meant = text === undefined ? undefined : field.meant(text)
    const parsed = meant === undefined ? { value: field.default } : field.parse(meant)
    if ('value' in parsed) return parsed.value
    throw new ProblemError('verify.passenger_rule', {
      parameter: wire,
      detail: `${wire} ${parsed.error}`,
    })
  })
  const broken = violatedPassengerRule(question)
  if (broken !== undefined) throw new ProblemError('verify.passenger_rule', { detail: broken.rule })
  assertTwoFlights(question)
  return question
}

function flightOf(parameter: string, id: string): string {
  const detail = violatedIdRule(parameter, id)
  if (detail === undefined) return id
  throw new ProblemError('request.invalid_parameter', { parameter, detail })
}
