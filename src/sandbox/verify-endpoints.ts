import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { cleanText } from '../base/text.ts'
import { type Answer, JSON_TYPE, refusal } from './answer.ts'
import { readMix } from './passengers.ts'
import { type EndpointDeps, serveEndpoint } from './serve-endpoints.ts'
import { type VerifyQuestion, verifyFares } from './verify-fares.ts'
import type { World } from './world.ts'

export interface VerifyEndpointsOptions {
  readonly world: World
  readonly token: string
}

type Query = Readonly<Record<string, unknown>>

/** assumption: the token is looked at first; a wrong one is told nothing about its question. */
export function verifyEndpoints(
  server: FastifyInstance,
  deps: EndpointDeps,
  { world, token }: VerifyEndpointsOptions,
): void {
  const isToken = tokenCheck(token)
  serveEndpoint(server, deps, {
    name: 'verify',
    path: '/api/v1/flights/fares/verify',
    answer: (request, worldNow) => {
      const query = request.query as Query
      if (!isToken(query.accessToken)) {
        return refusal(401, 'unauthorized', 'accessToken is missing or wrong')
      }
      const question = readQuestion(query)
      if ('brokenRule' in question) return refusal(400, 'invalid_request', question.brokenRule)
      return answerQuestion(world, worldNow, question)
    },
  })
}

/** Compares digests: equal in length whatever was sent, and in constant time. */
function tokenCheck(token: string): (sent: unknown) => boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  const expected = digest(token)
  return (sent) => typeof sent === 'string' && timingSafeEqual(digest(sent), expected)
}

/** assumption: a missing, empty or repeated flight id is a request that breaks a rule. */
function readQuestion(query: Query): VerifyQuestion | { brokenRule: string } {
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

function answerQuestion(world: World, worldNow: Date, question: VerifyQuestion): Answer {
  const result = verifyFares(world, worldNow, question)
  const flags = Object.entries(result).map(
    ([id, { available }]) => [shortId(id), available] as const,
  )
  const { flightId, returnFlightId } = question
  const back = returnFlightId === undefined ? {} : { returnFlightId: shortId(returnFlightId) }
  return {
    status: 200,
    contentType: JSON_TYPE,
    body: JSON.stringify(result),
    question: { ...question, flightId: shortId(flightId), ...back },
    available: Object.fromEntries(flags),
  }
}

/** As the log keeps it: a query may hold 16 KB, and the log holds many. */
function shortId(id: string): string {
  return cleanText(id, 100)
}
