import { AppError } from '../../platform/base/errors.ts'
import type { Logger } from '../../platform/base/logger.ts'
import { TimeoutError, withTimeout } from '../../platform/base/timeout.ts'
import type { Format, Target } from '../formats/format.ts'
import type { ReadyEndpoint, SealedEndpoint } from './claim-deliveries.ts'
import { type ComposedDelivery, isTooLarge } from './compose-messages.ts'
import type { EndedRequest, RequestResult } from './record-results.ts'

/** One request: messages for one endpoint. */
export interface Request {
  readonly endpoint: ReadyEndpoint
  readonly format: Format
  readonly composed: readonly ComposedDelivery[]
}

export interface SendDeps {
  /** Decrypts the address and the secrets of an endpoint. */
  readonly openTarget: (sealed: SealedEndpoint) => Target
  readonly log: Logger
  readonly requestTimeoutMs?: number
}

/** Formats end a request after 15 s. One that does not would otherwise hold its place for ever. */
const REQUEST_TIMEOUT_MS = 20_000

/**
 * Makes one request, and returns its result for each of its messages. Never rejects. If this process cannot open the
 * endpoint, there is no result, and the lease leaves the deliveries to another one.
 */
export async function sendRequest(
  deps: SendDeps,
  { endpoint, format, composed }: Request,
  aborting: AbortSignal,
): Promise<EndedRequest[]> {
  const { openTarget, log, requestTimeoutMs = REQUEST_TIMEOUT_MS } = deps
  const startedAt = new Date()
  const startedMs = performance.now()
  const fitting = composed.filter(({ message }) => !isTooLarge(message))
  const send = async (): Promise<RequestResult> => {
    if (fitting.length === 0) return { kind: 'too_large' }
    const messages = fitting.map(({ message }) => message)
    return withTimeout(format.send(openTarget(endpoint), messages, aborting), requestTimeoutMs)
  }
  let result: RequestResult
  try {
    result = await send()
  } catch (err) {
    if (!aborting.aborted) log.error({ err, endpointId: endpoint.id }, 'cannot send to an endpoint')
    if (err instanceof AppError) return []
    result = aborting.aborted ? { kind: 'released' } : failureOf(err)
  }
  const durationMs = performance.now() - startedMs
  return composed.map((one) => ({
    delivery: one.delivery,
    format: format.name,
    result: fitting.includes(one) ? result : { kind: 'too_large' },
    startedAt,
    durationMs,
  }))
}

function failureOf(err: unknown): RequestResult {
  const outcome = err instanceof TimeoutError ? 'timeout' : 'internal'
  return { kind: 'failed', outcome, status: null, answer: '' }
}
