import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { type Answer, errorAnswer, JSON_TYPE } from '../answer.ts'
import {
  findOtherFlight,
  idsOf,
  readAvailability,
  shortId,
  type VerifyQuestion,
  verifyFares,
} from '../verify-fares.ts'
import { mix, mixText } from '../world/random.ts'
import { readTerms } from '../world/terms.ts'
import type { VerifyResult } from '../world/wire.ts'
import type { World } from '../world/world.ts'
import {
  type Operation,
  type OperationDeps,
  type Query,
  serveOperation,
} from './serve-operations.ts'

interface FareOperationsOptions {
  readonly world: World
  readonly token: string
}

/** The operations that name flights: verify and booking. */
export function fareOperations(
  server: FastifyInstance,
  deps: OperationDeps,
  { world, token }: FareOperationsOptions,
): void {
  const isToken = tokenCheck(token)
  const answerTo =
    (answer: (question: VerifyQuestion, worldNow: Date) => Answer): Operation['answer'] =>
    (request, worldNow) => {
      const question = readQuestion(request.query as Query, isToken)
      return 'error' in question ? question.error : answer(question, worldNow)
    }
  serveOperation(server, deps, {
    name: 'verify',
    path: '/api/v1/flights/fares/verify',
    answer: answerTo((question, worldNow) => answerVerify(world, worldNow, question)),
  })
  // This operation has its own scope, because only it accepts a body of any type.
  void server.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, payload, parsed) => {
      payload.resume()
      parsed(null)
    })
    serveOperation(scope, deps, {
      name: 'booking',
      method: 'POST',
      path: '/api/v1/flights/fares/book',
      answer: answerTo((question, worldNow) => answerBooking(world, worldNow, question)),
    })
    done()
  })
}

function answerVerify(world: World, worldNow: Date, question: VerifyQuestion): Answer {
  const result = verifyFares(world, worldNow, question)
  return {
    status: 200,
    contentType: JSON_TYPE,
    body: JSON.stringify(result),
    ...forLog(question, result),
    requested: {
      ids: idsOf(question),
      otherFlight: () => findOtherFlight(world, worldNow, question),
    },
  }
}

/**
 * The booking call, which verifies again and charges no card if a seat is gone.
 *
 * assumption, all of it: the interface says what a booking does, but shows neither its path nor its method,
 * parameters, status or body. Ours is a POST with the token and the parameters of verify in its query. The body is
 * discarded unread, because it may hold a card. A booking takes no seat: the world stays the same.
 */
function answerBooking(world: World, worldNow: Date, question: VerifyQuestion): Answer {
  const flights = verifyFares(world, worldNow, question)
  const isBookable = Object.values(flights).every(({ available }) => available)
  const message = 'the last seats are gone; the card was not charged'
  const body = isBookable
    ? { booked: true, reference: referenceOf(world.seed, worldNow, question), flights }
    : { error: { code: 'no_longer_available', message }, booked: false, charged: false, flights }
  return {
    status: isBookable ? 200 : 409,
    contentType: JSON_TYPE,
    body: JSON.stringify(body),
    ...forLog(question, flights),
  }
}

const REFERENCE_STREAM = 61

/** The same for the same question at the same instant. */
function referenceOf(seed: number, instant: Date, question: VerifyQuestion): string {
  const text = [instant.toISOString(), ...idsOf(question)].join(' ')
  const word = mixText(mix(seed, REFERENCE_STREAM), text) >>> 0
  return `SANDBOX-${word.toString(36).toUpperCase().padStart(7, '0')}`
}

/** What the request log records of a question and its result. */
function forLog(
  question: VerifyQuestion,
  result: VerifyResult,
): Pick<Answer, 'question' | 'available'> {
  const { flightId, returnFlightId } = question
  const back = returnFlightId ? { returnFlightId: shortId(returnFlightId) } : {}
  return {
    question: { ...question, flightId: shortId(flightId), ...back },
    available: readAvailability(idsOf(question), result),
  }
}

/** Compares digests in constant time; their length does not depend on what was sent. */
function tokenCheck(token: string): (sent: unknown) => boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  const expected = digest(token)
  return (sent) => typeof sent === 'string' && timingSafeEqual(digest(sent), expected)
}

/**
 * assumption: the token is checked first, so a request with a wrong one learns nothing about its question; a missing,
 * empty or repeated flight id breaks a rule.
 */
function readQuestion(
  query: Query,
  isToken: (sent: unknown) => boolean,
): VerifyQuestion | { readonly error: Answer } {
  const error = (message: string) => ({ error: errorAnswer(400, 'invalid_request', message) })
  const { accessToken, flightId, returnFlightId } = query
  if (!isToken(accessToken)) {
    return { error: errorAnswer(401, 'unauthorized', 'accessToken is missing or wrong') }
  }
  if (!isId(flightId)) return error('flightId is required, once')
  if (returnFlightId !== undefined && !isId(returnFlightId)) {
    return error('returnFlightId must be one flight id')
  }
  const outcome = readTerms(query)
  if ('brokenRule' in outcome) return error(outcome.brokenRule)
  const back = returnFlightId === undefined ? {} : { returnFlightId }
  return { flightId, ...back, ...outcome.terms }
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
