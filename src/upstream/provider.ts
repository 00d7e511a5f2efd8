import type { RouteListName } from '../platform/base/kinds.ts'
import type { Scrub } from '../platform/base/secrets.ts'
import type { VerifyAnswer } from './observation.ts'
import type { Question } from './question.ts'
import type { HttpRequest, PlaceToken } from './transport/http-exchange.ts'

/** A GET request below the base URL, without the credential. `wants` accepts the only answer whose body is read. */
export type ProviderRequest = Pick<HttpRequest, 'path' | 'headers' | 'wants'>

/**
 * What is particular to one upstream: its requests, and how its answers become our types. The client has the rest, which
 * is the same for all: slots, permits, deadlines, limits, errors, retries, ages and evidence.
 *
 * The conformance tests in test/upstream/provider-conformance.ts say what a provider must do.
 */
export interface Provider {
  /** Names the provider in the log. */
  readonly name: string
  /** Kept with the evidence of each answer. A change of what `readAnswer` makes of the same bytes increases it. */
  readonly parserVersion: number
  /** Says where a request carries the token: in its query, in its headers. */
  readonly placeToken: PlaceToken
  listRequest(list: RouteListName): ProviderRequest
  /**
   * Turns a body of another shape into the one that we keep: a JSON array of routes, which `readRouteList` reads. Throws
   * UpstreamContractError. A provider whose lists have that shape has none.
   */
  readonly convertList?: (chunks: readonly Uint8Array[], endpoint: RouteListName) => Uint8Array[]
  /** Equal questions have equal paths: the fingerprint of the evidence is that of the path. */
  verifyRequest(question: Question): ProviderRequest
  /** Reads a wanted body. Never throws: an unreadable body is an unknown answer. Texts in it must be scrubbed. */
  readAnswer(chunks: readonly Uint8Array[], question: Question, scrub: Scrub): VerifyAnswer
}
