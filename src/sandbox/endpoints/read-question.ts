import { createHash, timingSafeEqual } from 'node:crypto'
import { type Answer, refusal } from '../answer.ts'
import type { VerifyQuestion } from '../verify-fares.ts'
import { readMix } from '../world/passengers.ts'

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
