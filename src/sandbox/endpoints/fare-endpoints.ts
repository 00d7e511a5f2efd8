import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { type Answer, JSON_TYPE, refusal } from '../answer.ts'
import {
  findOtherFlight,
  idsOf,
  shortId,
  type VerifyQuestion,
  verifyFares,
  whatIsSaid,
} from '../verify-fares.ts'
import { readMix } from '../world/passengers.ts'
import { mix, mixText } from '../world/random.ts'
import type { VerifyResult } from '../world/wire.ts'
import type { World } from '../world/world.ts'
import { type EndpointDeps, serveEndpoint } from './serve-endpoints.ts'

export interface VerifyEndpointsOptions {
  readonly world: World
  readonly token: string
}

export function verifyEndpoints(
  server: FastifyInstance,
  deps: EndpointDeps,
  { world, token }: VerifyEndpointsOptions,
): void {
  const readQuestion = questionReader(token)
  serveEndpoint(server, deps, {
    name: 'verify',
    path: '/api/v1/flights/fares/verify',
    answer: (request, worldNow) => {
      const question = readQuestion(request.query as Query)
      if ('refused' in question) return question.refused
      const result = verifyFares(world, worldNow, question)
      return {
        status: 200,
        contentType: JSON_TYPE,
        body: JSON.stringify(result),
        ...aboutFlights(question, result),
        asked: {
          ids: idsOf(question),
          otherFlight: () => findOtherFlight(world, worldNow, question),
        },
      }
    },
  })
}

/** What the request log keeps of a question and of the result that answers it. */
export function aboutFlights(
  question: VerifyQuestion,
  result: VerifyResult,
): Pick<Answer, 'question' | 'available'> {
  const { flightId, returnFlightId } = question
  const back = returnFlightId === undefined ? {} : { returnFlightId: shortId(returnFlightId) }
  return {
    question: { ...question, flightId: shortId(flightId), ...back },
    available: whatIsSaid(idsOf(question), result),
  }
}

const REFERENCE = 61

/**
 * The booking call, which verifies again and charges nobody when a seat is gone.
 *
 * assumption, all of it: the interface says what a booking does, but shows neither its path nor its method,
 * parameters, status or body. Ours is a POST, the one endpoint that is no GET, with the token and the
 * parameters of verify in its query. A body is thrown away unread: nobody should send a card to a sandbox.
 * No seat is taken: the world is the same after a booking as before.
 */
export function bookingEndpoints(
  server: FastifyInstance,
  deps: EndpointDeps,
  { world, token }: VerifyEndpointsOptions,
): void {
  const readQuestion = questionReader(token)
  // A plugin of its own: only here is a body of any type taken.
  void server.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, payload, parsed) => {
      payload.resume()
      parsed(null)
    })
    serveEndpoint(scope, deps, {
      name: 'booking',
      method: 'POST',
      path: '/api/v1/flights/fares/book',
      answer: (request, worldNow) => {
        const question = readQuestion(request.query as Query)
        if ('refused' in question) return question.refused
        const result = verifyFares(world, worldNow, question)
        const reference = referenceOf(world.seed, worldNow, question)
        return { ...answerBooking(result, reference), ...aboutFlights(question, result) }
      },
    })
    done()
  })
}

function answerBooking(flights: VerifyResult, reference: string): Answer {
  const bookable = Object.values(flights).every(({ available }) => available)
  const body = bookable
    ? { booked: true, reference, flights }
    : {
        error: {
          code: 'no_longer_available',
          message: 'the last seats are gone; the card was not charged',
        },
        booked: false,
        charged: false,
        flights,
      }
  return { status: bookable ? 200 : 409, contentType: JSON_TYPE, body: JSON.stringify(body) }
}

/** Made up, and the same for the same question at the same instant. */
function referenceOf(seed: number, instant: Date, question: VerifyQuestion): string {
  const text = [instant.toISOString(), ...idsOf(question)].join(' ')
  const word = mixText(mix(seed, REFERENCE), text) >>> 0
  return `SANDBOX-${word.toString(36).toUpperCase().padStart(7, '0')}`
}

export type Query = Readonly<Record<string, unknown>>

/** Reads the question of a request that names flights, or says how to refuse it. */
export type ReadQuestion = (query: Query) => VerifyQuestion | { readonly refused: Answer }

/** assumption: the token is looked at first; a wrong one is told nothing about its question. */
export function questionReader(token: string): ReadQuestion {
  const isToken = tokenCheck(token)
  return (query) => {
    if (!isToken(query.accessToken)) {
      return { refused: refusal(401, 'unauthorized', 'accessToken is missing or wrong') }
    }
    const question = readQuestion(query)
    if (!('brokenRule' in question)) return question
    return { refused: refusal(400, 'invalid_request', question.brokenRule) }
  }
}

/** Compares digests: equal in length whatever was sent, and in constant time. */
function tokenCheck(token: string): (sent: unknown) => boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  const expected = digest(token)
  return (sent) => typeof sent === 'string' && timingSafeEqual(digest(sent), expected)
}

/** assumption: a missing, empty or repeated flight id is a request that breaks a rule. */
function readQuestion(query: Query): VerifyQuestion | { readonly brokenRule: string } {
  const { flightId, returnFlightId } = query
  if (!isId(flightId)) return { brokenRule: 'flightId is required, once' }
  if (returnFlightId !== undefined && !isId(returnFlightId)) {
    return { brokenRule: 'returnFlightId must be one flight id' }
  }
  const outcome = readMix(query)
  if ('brokenRule' in outcome) return outcome
  const back = returnFlightId === undefined ? {} : { returnFlightId }
  return { flightId, ...back, ...outcome.mix }
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
