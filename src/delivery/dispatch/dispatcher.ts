import { randomUUID } from 'node:crypto'
import { coalesce, endsWithin, TimeoutError, withTimeout } from '../../platform/base/clock.ts'
import { AppError } from '../../platform/base/errors.ts'
import type { Logger } from '../../platform/base/logger.ts'
import { span } from '../../platform/base/tracing.ts'
import type { Db } from '../../platform/db/database.ts'
import { inTransaction } from '../../platform/db/transaction.ts'
import type { SealedEndpoint } from '../endpoints/sealer.ts'
import type { Format, Target } from '../formats/format.ts'
import {
  type ComposedDelivery,
  claimDeliveries,
  composeMessages,
  type FreeRequests,
  isTooLarge,
  lockReady,
  type ReadyEndpoint,
} from './claim-deliveries.ts'
import { fanOut } from './fan-out.ts'
import {
  type EndedRequest,
  type RecordedResults,
  type RequestResult,
  recordResults,
} from './record-results.ts'

/** Delivers what is due. Every worker process has one. */
export interface Dispatcher {
  /**
   * Records the requests that have ended, writes the deliveries of new records, claims what is due and begins its
   * requests. Resolves when that is done; the requests end later, and each end causes another call. Calls while one
   * runs share the next run.
   * @returns whether requests have begun since the call, in the run before it too: that may have read what the call is about.
   */
  dispatch(): Promise<boolean>
  /** Whether requests have ended that are not recorded yet. */
  hasUnrecorded(): boolean
  /** Begins no more requests, gives those in progress some time, and releases the rest. Never rejects. */
  close(graceMs: number): Promise<void>
}

export interface DispatcherDeps extends SendDeps {
  readonly db: Db
  /** The address of the page; undefined if it is not known. */
  readonly publicUrl?: string | undefined
  readonly formats: readonly Format[]
  readonly onRecorded: (recorded: RecordedResults) => void
  readonly random: () => number
}

const MAX_REQUESTS = 256
/** Endpoints that fail or hang use at most half of them. */
const MAX_DOUBTFUL = 128
/** The rest of the grace time is for recording. */
const FINISH_SHARE = 0.6

export function createDispatcher(deps: DispatcherDeps): Dispatcher {
  const { db } = deps
  const closing = new AbortController()
  const aborting = new AbortController()
  /** The requests in progress, and whether each is to a healthy endpoint. */
  const inProgress = new Map<Promise<void>, boolean>()
  const ended: EndedRequest[] = []
  /** Whether a feed may have grown. The end of a request does not make it grow. */
  let mayBeBehind = false
  let begun = 0

  const begin = (request: Request) => {
    const sending = sendRequest(deps, request, aborting.signal).then((results) => {
      inProgress.delete(sending)
      ended.push(...results)
      runSoon()
    })
    inProgress.set(sending, request.endpoint.healthy)
  }
  const run = coalesce(async () => {
    await record(deps, ended)
    if (closing.signal.aborted) return
    if (mayBeBehind) {
      mayBeBehind = false
      // A call during the fan-out has set it again.
      if (await fanOut(db)) mayBeBehind = true
    }
    const requests = await claim(deps, freeRequests([...inProgress.values()]))
    for (const request of requests) begin(request)
    begun += requests.length
    if (mayBeBehind) runSoon()
  })
  // If it fails, the next tick repeats it and reports the error.
  const runSoon = () => void run().catch(() => undefined)

  return {
    dispatch: async () => {
      const before = begun
      mayBeBehind = true
      await run()
      return begun > before
    },
    hasUnrecorded: () => ended.length > 0,
    close: async (graceMs) => {
      closing.abort()
      await endsWithin(Promise.all(inProgress.keys()), graceMs * FINISH_SHARE)
      aborting.abort()
      await Promise.all(inProgress.keys())
      await endsWithin(run(), graceMs * (1 - FINISH_SHARE))
    },
  }
}

/** Records requests, and keeps those that cannot be recorded now. */
async function record(
  { db, random, onRecorded }: DispatcherDeps,
  ended: EndedRequest[],
): Promise<void> {
  const batch = ended.splice(0)
  if (batch.length === 0) return
  try {
    onRecorded(await recordResults(db, batch, random))
  } catch (err) {
    ended.unshift(...batch)
    throw err
  }
}

/**
 * Each kind of endpoint gets half of what is free, so that both together never get more. The next claim shares the
 * rest. The last free request is for a doubtful endpoint: otherwise busy healthy ones would take each request that
 * ends.
 */
function freeRequests(inProgress: readonly boolean[]): FreeRequests {
  const free = MAX_REQUESTS - inProgress.length
  const doubtful = MAX_DOUBTFUL - inProgress.filter((healthy) => !healthy).length
  const forDoubtful = Math.min(doubtful, Math.ceil(free / 2))
  return { healthy: free - forDoubtful, doubtful: forDoubtful }
}

async function claim(
  { db, publicUrl, formats }: DispatcherDeps,
  free: FreeRequests,
): Promise<Request[]> {
  if (free.healthy <= 0 && free.doubtful <= 0) return []
  const { ready, composed } = await inTransaction(db, async (tx) => {
    const ready = await lockReady(tx, formats)
    if (ready.length === 0) return { ready, composed: [] }
    const claimed = await claimDeliveries(tx, { claimId: randomUUID(), ready, formats, free })
    return { ready, composed: await composeMessages({ db: tx, publicUrl }, claimed, ready) }
  })
  return ready.flatMap((endpoint) => {
    const format = formats.find(({ name }) => name === endpoint.format)
    const own = composed.filter(({ delivery }) => delivery.endpointId === endpoint.id)
    if (format === undefined || own.length === 0) return []
    if (format.maxMessages > 1) return [{ endpoint, format, composed: own }]
    return own.map((one) => ({ endpoint, format, composed: [one] }))
  })
}

/** One request: messages for one endpoint. */
interface Request {
  readonly endpoint: ReadyEndpoint
  readonly format: Format
  readonly composed: readonly ComposedDelivery[]
}

interface SendDeps {
  /** Decrypts the address and the secrets of an endpoint. */
  readonly openTarget: (sealed: SealedEndpoint) => Target
  readonly log: Logger
}

/** Formats end a request after 15 s. One that does not would otherwise hold its place for ever. */
const REQUEST_TIMEOUT_MS = 20_000

/**
 * Makes one request, and returns its result for each of its messages. Never rejects. If this process cannot open the
 * endpoint, there is no result, and the lease leaves the deliveries to another one.
 */
function sendRequest(
  deps: SendDeps,
  request: Request,
  aborting: AbortSignal,
): Promise<EndedRequest[]> {
  const { endpoint, format, composed } = request
  const ids = {
    'farewatch.endpoint_id': endpoint.id,
    'farewatch.format': format.name,
    'farewatch.delivery_ids': composed.map(({ delivery }) => delivery.id),
  }
  return span('delivery', ids, async (annotate) => {
    const ended = await makeRequest(deps, request, aborting)
    annotate({ 'farewatch.outcome': ended[0]?.result.kind })
    return ended
  })
}

async function makeRequest(
  deps: SendDeps,
  { endpoint, format, composed }: Request,
  aborting: AbortSignal,
): Promise<EndedRequest[]> {
  const { openTarget, log } = deps
  const startedAt = new Date()
  const startedMs = performance.now()
  const fitting = composed.filter(({ message }) => !isTooLarge(message))
  let result: RequestResult = { kind: 'too_large' }
  try {
    if (fitting.length > 0) {
      const messages = fitting.map(({ message }) => message)
      const sending = format.send(openTarget(endpoint), messages, aborting)
      result = await withTimeout(sending, REQUEST_TIMEOUT_MS)
    }
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
