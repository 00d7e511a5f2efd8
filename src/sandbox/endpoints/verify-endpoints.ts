import type { FastifyInstance } from 'fastify'
import { type Answer, JSON_TYPE } from '../answer.ts'
import { findOtherFlight, idsOf, type VerifyQuestion, verifyFares } from '../verify-fares.ts'
import { shortId, whatIsSaid } from '../what-is-said.ts'
import type { VerifyResult } from '../world/wire.ts'
import type { World } from '../world/world.ts'
import { type Query, questionReader } from './read-question.ts'
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
