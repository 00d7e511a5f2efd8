import { hash } from 'node:crypto'
import { AppError } from '../../base/errors.ts'
import type { Scrub } from '../../base/secrets.ts'
import { cleanText } from '../../base/text.ts'
import type { CallRecord } from '../call-record.ts'
import type { FetchDeps } from '../lists/fetch-route-list.ts'
import type {
  Evidence,
  Observation,
  PassengerCounts,
  Question,
  UnknownReason,
} from '../observation.ts'
import { type BodyBeginning, maskNamedTokens, snippetOf } from '../transport/body-snippet.ts'
import type { ExchangeAnswer } from '../transport/http-exchange.ts'
import { errorOfAnswer, isJsonAnswer } from '../transport/judge-answer.ts'
import { UpstreamContractError, UpstreamRateLimitedError } from '../upstream-errors.ts'
import { VERIFY_ENDPOINT } from './flight-fields.ts'
import { readVerifyAnswer, unknownAnswer, type VerifyAnswer } from './verify-answer.ts'

/** Goes up whenever the same bytes are read in another way, so that old evidence can be told from new. */
export const PARSER_VERSION = 1

const VERIFY_PATH = '/api/v1/flights/fares/verify'
const MAX_EVIDENCE_BYTES = 65_536

const REASON_BY_CODE: Readonly<Record<string, UnknownReason>> = {
  'upstream.timeout': 'timeout',
  'upstream.network': 'network',
  'upstream.http_4xx': 'http_4xx',
  'upstream.http_5xx': 'http_5xx',
  'upstream.rate_limited': 'rate_limited',
  'upstream.auth': 'auth',
  'upstream.redirect': 'contract_violation',
  'upstream.too_large': 'malformed',
}

export interface VerifyCall {
  readonly question: Question
  readonly record: CallRecord
  readonly signal: AbortSignal
}

/**
 * Asks one question, once, and turns whatever comes of it into an observation.
 *
 * Throws nothing but the caller's own reason when it aborted; the question must have passed `assertQuestion`.
 */
export async function verifyFares(deps: FetchDeps, call: VerifyCall): Promise<Observation> {
  const { question, record } = call
  const { scrub } = deps
  const path = verifyPath(question)
  const startedMs = performance.now()
  const heard = await ask(deps, path, call)
  const latencyMs = Math.round(performance.now() - startedMs)
  const failure = failureOf(heard, deps)
  const answer =
    failure === undefined
      ? readVerifyAnswer((heard as ExchangeAnswer).chunks, question, scrub)
      : failedAnswer(question, failure)
  record.outcome = failure?.code ?? outcomeOf(answer)
  return {
    ...answer,
    evidence: evidenceOf({ path, heard, status: record.status ?? null, latencyMs, scrub }),
  }
}

interface EvidenceArgs {
  readonly path: string
  readonly heard: ExchangeAnswer | AppError
  readonly status: number | null
  readonly latencyMs: number
  readonly scrub: Scrub
}

/** Most answers change nothing, and nobody looks at their evidence: what is dear of it is made when it is read. */
function evidenceOf({ path, heard, status, latencyMs, scrub }: EvidenceArgs): Evidence {
  return {
    get body() {
      return heard instanceof AppError ? null : evidenceText(heard, scrub)
    },
    status,
    latencyMs,
    get requestFingerprint() {
      return hash('sha256', path)
    },
    parserVersion: PARSER_VERSION,
  }
}

/** Path and query of a question, without the token: one text for one question. */
export function verifyPath({ flightId, returnFlightId, passengers }: Question): string {
  const { residents, nonResidents } = passengers
  const back =
    returnFlightId === null ? '' : `&returnFlightId=${encodeURIComponent(returnFlightId)}`
  const query = `flightId=${encodeURIComponent(flightId)}${back}`
  return `${VERIFY_PATH}?${query}&${counts('residents', residents)}&${counts('nonResidents', nonResidents)}`
}

/** By hand: for ten parameters URLSearchParams takes longer than undici for the request. */
function counts(group: string, { adults, children, infants }: PassengerCounts): string {
  const name = (type: string) => `${group}%5B${type}%5D`
  return `${name('adults')}=${adults}&${name('children')}=${children}&${name('infants')}=${infants}`
}

/** The answer, or the expected failure that came in its place. */
async function ask(
  { exchange, limits }: FetchDeps,
  path: string,
  { record, signal }: VerifyCall,
): Promise<ExchangeAnswer | AppError> {
  try {
    return await exchange.get({
      endpoint: VERIFY_ENDPOINT,
      path,
      deadlineMs: limits.verifyDeadlineMs,
      maxBodyBytes: limits.maxVerifyBytes,
      signal,
      wants: (head) => {
        record.status = head.status
        return isJsonAnswer(head)
      },
      onChunk: (chunk) => {
        record.bytes += chunk.length
      },
    })
  } catch (thrown) {
    // The caller's reason may be an expected failure of its own: it is not the upstream's.
    if (signal.aborted) throw signal.reason
    if (thrown instanceof AppError) return thrown
    throw thrown
  }
}

function failureOf(
  heard: ExchangeAnswer | AppError,
  { scrub, clock, limits: { maxRetryAfterMs } }: FetchDeps,
): AppError | undefined {
  if (heard instanceof AppError) return heard
  if (heard.wanted) return undefined
  const endpoint = VERIFY_ENDPOINT
  return errorOfAnswer(heard, { endpoint, scrub, now: clock.now(), maxRetryAfterMs })
}

function failedAnswer(question: Question, failure: AppError): VerifyAnswer {
  const answer = unknownAnswer(question, { reason: reasonOf(failure), detail: failure.message })
  const asked = failure instanceof UpstreamRateLimitedError ? failure.retryAfterMs : undefined
  return asked === undefined ? answer : { ...answer, retryAfterMs: asked }
}

function reasonOf(failure: AppError): UnknownReason {
  const reason = REASON_BY_CODE[failure.code]
  if (reason !== undefined) return reason
  // Under a status that promises an answer it is the bytes that are wrong: they end early, or are no JSON.
  const promised = failure instanceof UpstreamContractError && (failure.status ?? 200) === 200
  return promised ? 'malformed' : 'contract_violation'
}

function outcomeOf({ outbound, return: back }: VerifyAnswer): string {
  const unknown = [outbound, back].find((leg) => leg?.kind === 'unknown')
  return unknown?.kind === 'unknown' ? `upstream.${unknown.reason}` : 'ok'
}

/** What is kept of a body. NUL goes before the scrubbing, which would not know a secret with one in it. */
function evidenceText(answer: BodyBeginning, scrub: Scrub): string | null {
  // A secret that the cut goes through is not recognised.
  if (!answer.complete) return snippetOf(answer, scrub) ?? null
  const body = Buffer.concat(answer.chunks).toString('utf8')
  const text = maskNamedTokens(scrub(cleanText(body, Number.POSITIVE_INFINITY)))
  const bytes = Buffer.from(text).subarray(0, MAX_EVIDENCE_BYTES)
  // Of a character that the cap goes through nothing is kept.
  return new TextDecoder().decode(bytes, { stream: true }) || null
}
