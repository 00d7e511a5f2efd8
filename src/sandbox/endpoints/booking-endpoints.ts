import type { FastifyInstance } from 'fastify'
import { type Answer, JSON_TYPE } from '../answer.ts'
import { idsOf, type VerifyQuestion, verifyFares } from '../verify-fares.ts'
import { mix, mixText } from '../world/random.ts'
import type { VerifyResult } from '../world/wire.ts'
import { type Query, questionReader } from './read-question.ts'
import { type EndpointDeps, serveEndpoint } from './serve-endpoints.ts'
import { aboutFlights, type VerifyEndpointsOptions } from './verify-endpoints.ts'

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
