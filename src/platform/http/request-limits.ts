import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { getHeapStatistics } from 'node:v8'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { createKeyedSemaphore, createSemaphore, type Release } from '../base/semaphore.ts'
import type { Caller, Operation, UnknownCaller, WhileWaiting } from './operation.ts'
import { ProblemError } from './problems.ts'

export interface RequestLimitOptions {
  /** How many requests of one key may be in progress. */
  readonly requestsPerKey?: number
  /** How many bytes the bodies of all requests in progress may have. */
  readonly bodyBytes?: number
  /** How many writes of one reseller may wait, and how long. */
  readonly waitingWrites?: number
  readonly waitMs?: number
}

/** Twice as many as may wait for the records of one reseller. */
const REQUESTS_PER_KEY = 100
const STREAMS_PER_KEY = 50
/**
 * While a body of watches is handled it takes up to 25 times its size. All bodies together may take half of the
 * heap.
 */
const HEAP_PER_BODY_BYTE = 50
/** The budget is at least this large, so that the largest permitted body is accepted with any heap. */
const LEAST_BODY_BYTES = 3_000_000
const WAITING_WRITES = 32
/** Node ends a request that has not arrived after 30 s. */
const WAIT_MS = 10_000
/** Half of the API's connections. The others remain for reads. */
const WRITES_AT_A_TIME = 5
/** The other handlers of a key wait, so that those of other keys run between them. */
const HANDLERS_PER_KEY = 2
/**
 * After a write the next one of its reseller waits a millisecond for each kilobyte of the body, so that imports leave
 * time to others. The wait does not follow from how long the write took: others may have made it slow.
 */
export const BODY_BYTES_PER_MS = 1_000
/** After a long answer the place of its handler stays taken for a while, for the same reason: 0.2 s for a megabyte. */
const ANSWER_BYTES_PER_MS = 5_000
const RETRY_AFTER = { 'retry-after': '2' }

/** A request within the limits. What it holds is given back when its response and its handler have ended. */
export interface LimitedRequest {
  /** Counts a body as it arrives. Reading it fails with a ProblemError if it is too much, or with what `check` throws. */
  countBody(body: Readable, check?: (piece: Buffer) => void): Readable
  /** Counts the bytes of the answer, within `run`. */
  countAnswer(bytes: number): void
  run<T>(handler: (whileWaiting: WhileWaiting) => Promise<T>): Promise<T>
}

/** Lets a request in before its body is read. Throws a ProblemError if it would take too much. */
type Enter = (
  operation: Pick<Operation<never>, 'method' | 'scope' | 'streams'>,
  caller: Caller | UnknownCaller,
  http: { readonly request: FastifyRequest; readonly reply: FastifyReply },
) => Promise<LimitedRequest>

/**
 * Keeps a caller from taking the memory and the connections that all callers share.
 *
 * A key has a limited number of requests in progress, and of streams. A few of their handlers run at a time. The
 * writes of a reseller run one at a time; the others wait before their bodies are read. The bodies of all requests
 * have a limited number of bytes. Only bytes that have arrived count, so that a slow sender holds no more of them
 * than it has sent.
 */
export function createRequestLimits(options: RequestLimitOptions = {}): Enter {
  const {
    requestsPerKey = REQUESTS_PER_KEY,
    waitingWrites = WAITING_WRITES,
    waitMs = WAIT_MS,
  } = options
  const countRequest = createLimit(requestsPerKey, 'requests')
  const countStream = createLimit(STREAMS_PER_KEY, 'streams')
  const handlers = createKeyedSemaphore({ width: HANDLERS_PER_KEY, maxWaiting: requestsPerKey })
  const writes = createKeyedSemaphore({ width: 1, maxWaiting: waitingWrites })
  const writing = createSemaphore(WRITES_AT_A_TIME)
  const bodies = createBodyBudget(options.bodyBytes ?? bodyBytesOfHeap())
  return async ({ method, scope, streams }, caller, { request, reply }) => {
    const hold = holdUntilEnd(reply.raw)
    const isWrite = caller.kind === 'reseller' && scope === 'watch'
    hold.add(await (streams === true ? countStream : countRequest)(caller.limitKey))
    let bodyBytes = 0
    let answerBytes = 0
    if (isWrite) {
      const place = await writes.acquire(String(caller.resellerId), () =>
        AbortSignal.any([signalOfClose(reply.raw), AbortSignal.timeout(waitMs)]),
      )
      const release = orTooMany(place, `writes run one at a time, and ${waitingWrites} may wait`)
      hold.add(() => releaseAfter(bodyBytes / BODY_BYTES_PER_MS, release))
    }
    // No other method's body is read. A longer body than the limit is refused without reading it.
    const declared = method === 'GET' ? 0 : Number(request.headers['content-length'] ?? 0)
    if (declared <= request.routeOptions.bodyLimit) bodies.assertFree(declared)
    return {
      countBody: (body, check) => {
        const count = (piece: Buffer) => {
          bodyBytes += piece.length
          check?.(piece)
          hold.add(bodies.reserve(piece.length))
        }
        return Readable.from(counting(body, count), { objectMode: false })
      },
      countAnswer: (bytes) => {
        answerBytes = bytes
      },
      run: (handler) =>
        hold.during(async () => {
          if (isWrite) return writing(() => handler((work) => work()))
          const acquire = (limit?: () => AbortSignal) => handlers.acquire(caller.limitKey, limit)
          const holdMs = () => answerBytes / ANSWER_BYTES_PER_MS
          return runInPlace(handler, { acquire, waitMs, holdMs })
        }),
    }
  }
}

function signalOfClose(response: ServerResponse): AbortSignal {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  return gone.signal
}

/** Counts what a key has open at a time. Throws a ProblemError if that is too much. */
function createLimit(perKey: number, what: string): (key: string) => Promise<Release> {
  const places = createKeyedSemaphore({ width: perKey, maxWaiting: 0 })
  return async (key) => orTooMany(await places.acquire(key), `${perKey} ${what} at a time`)
}

interface Places {
  acquire(limit?: () => AbortSignal): Promise<Release | undefined>
  /** How long the handler may wait for its first place. A client that has waited for a result waits on for its second. */
  readonly waitMs: number
  /** For how long its place stays taken after the handler. */
  holdMs(): number
}

async function runInPlace<T>(
  handler: (whileWaiting: WhileWaiting) => Promise<T>,
  { acquire, waitMs, holdMs }: Places,
): Promise<T> {
  const first = await acquire(() => AbortSignal.timeout(waitMs))
  let release = orTooMany(first, `${HANDLERS_PER_KEY} of a key are handled at a time`)
  try {
    return await handler(async (work) => {
      release()
      try {
        return await work()
      } finally {
        release = (await acquire()) ?? release
      }
    })
  } finally {
    releaseAfter(holdMs(), release)
  }
}

function releaseAfter(ms: number, release: Release): void {
  if (ms < 1) release()
  else setTimeout(release, ms).unref()
}

function bodyBytesOfHeap(): number {
  return Math.max(LEAST_BODY_BYTES, getHeapStatistics().heap_size_limit / HEAP_PER_BODY_BYTE)
}

function createBodyBudget(total: number) {
  let free = total
  /** Throws a ProblemError if there are fewer bytes. */
  const assertFree = (bytes: number) => {
    if (bytes > free) throw new ProblemError('server.busy', { headers: RETRY_AFTER })
  }
  /** Takes bytes, and returns the function that gives them back. Throws a ProblemError if there are too few. */
  const reserve = (bytes: number): Release => {
    assertFree(bytes)
    free -= bytes
    return () => {
      free += bytes
    }
  }
  return { assertFree, reserve }
}

/** A body that is refused is not destroyed, because that would close the connection before the response. */
async function* counting(body: Readable, count: (piece: Buffer) => void): AsyncGenerator<Buffer> {
  for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    count(chunk)
    yield chunk
  }
}

function orTooMany(place: Release | undefined, detail: string): Release {
  if (place !== undefined) return place
  throw new ProblemError('access.too_many_requests', { detail, headers: RETRY_AFTER })
}

/** A client that disconnects does not end the handler of its request. */
function holdUntilEnd(response: ServerResponse) {
  const releases: Release[] = []
  let users = 1
  const end = () => {
    users -= 1
    if (users === 0) for (const release of releases) release()
  }
  response.once('close', end)
  /** Calls `release` when the response and its handler have ended; at once if they have. */
  const add = (release: Release) => {
    if (users === 0) release()
    else releases.push(release)
  }
  const during = async <T>(handler: () => Promise<T>): Promise<T> => {
    users += 1
    try {
      return await handler()
    } finally {
      end()
    }
  }
  return { add, during }
}
