import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { getHeapStatistics } from 'node:v8'
import rateLimit from '@fastify/rate-limit'
import underPressure from '@fastify/under-pressure'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { lazily } from '../base/cache.ts'
import { createKeyedSemaphore, createSemaphore, type Release } from '../base/semaphore.ts'
import type { Caller, Operation, UnknownCaller, WhileWaiting } from './operation.ts'
import { ProblemError } from './problems.ts'

export interface RequestLimitOptions {
  /** Of a key, and of an address without one. A window of ten seconds has ten times as many. */
  readonly requestsPerSecond: number
  /** How many requests of one key, and writes of one reseller, may wait, and how long. */
  readonly maxWaiting?: number
  readonly waitMs?: number
  /** How long a refusal is held back, and a place by a body that no handler got. */
  readonly refusalMs?: number
  /** Beyond these the process refuses requests. */
  readonly maxHeapBytes?: number
  readonly maxLoopDelayMs?: number
}

const WINDOW_SECONDS = 10
/** Of the heap. What is above it is needed for the requests in progress. */
const HEAP_SHARE = 0.8
const LOOP_DELAY_MS = 1_000
const MAX_WAITING = 100
/** Node ends a request that has not arrived after 30 s. */
const WAIT_MS = 10_000
/**
 * Without it, a client that repeats refused requests at once would keep the process busy with refusals. A megabyte of
 * brackets takes a quarter of a second to parse: its caller keeps its place for the time that leaves three quarters to
 * others, also when it has disconnected.
 */
const REFUSAL_MS = 1_000
/** Half of the API's connections. The others remain for reads. */
const WRITES_AT_A_TIME = 5
/** Places of a key; of a reseller for writes. Streams do not wait for one. */
const PLACES = { requests: 2, writes: 1, streams: 50 }
const RETRY_AFTER = { 'retry-after': '2' }

/** A place among the requests of a caller. It is given back when its handler has ended; that of a stream with the response. */
export interface Place {
  run<T>(handler: (whileWaiting: WhileWaiting) => Promise<T>): Promise<T>
}

export interface RequestLimits {
  /** Counts a request of a key, or of its address. Throws a ProblemError beyond the rate. */
  count(request: FastifyRequest, reply: FastifyReply, key?: string): Promise<void>
  /** Waits for a place before the body is read. Throws a ProblemError if there is none. */
  enter(
    operation: Pick<Operation<never>, 'scope' | 'streams' | 'body'>,
    caller: Caller | UnknownCaller,
    ended: AbortSignal,
  ): Promise<Place>
}

/**
 * Keeps a caller from taking the time, the memory and the connections that all callers share: a rate, a few handlers at
 * a time, and no new requests while the process is overloaded. The counts are in the memory of this process. A limit
 * shared by all processes would cost a round trip to the store on every request in order to protect that store.
 */
export function addRequestLimits(
  server: FastifyInstance,
  options: RequestLimitOptions,
): RequestLimits {
  shedLoad(server, options)
  const { refusalMs = REFUSAL_MS } = options
  server.addHook('onSend', async (_request, reply, payload) => {
    if (reply.hasHeader('retry-after')) await delay(refusalMs)
    return payload
  })
  return { count: createCount(server, options), enter: createPlaces(options) }
}

function shedLoad(server: FastifyInstance, options: RequestLimitOptions): void {
  const { maxLoopDelayMs = LOOP_DELAY_MS } = options
  const { maxHeapBytes = HEAP_SHARE * getHeapStatistics().heap_size_limit } = options
  server.register(underPressure, {
    maxEventLoopDelay: maxLoopDelayMs,
    maxHeapUsedBytes: maxHeapBytes,
    pressureHandler: async () => {
      throw new ProblemError('server.busy', { headers: RETRY_AFTER })
    },
  })
}

/** Keys and addresses are counted apart: many addresses without a key push no key out of memory. */
function createCount(
  server: FastifyInstance,
  { requestsPerSecond }: RequestLimitOptions,
): RequestLimits['count'] {
  const quota = requestsPerSecond * WINDOW_SECONDS
  const keys = new WeakMap<FastifyRequest, string>()
  server.register(rateLimit, { global: false, max: quota, timeWindow: WINDOW_SECONDS * 1_000 })
  const countAddress = lazily(() => server.createRateLimit({}))
  const countKey = lazily(() =>
    server.createRateLimit({ keyGenerator: (request) => keys.get(request) ?? '' }),
  )
  return async (request, reply, key) => {
    if (key !== undefined) keys.set(request, key)
    const counted = await (key === undefined ? countAddress() : countKey())(request)
    if (counted.isAllowed) return
    const { remaining, ttlInSeconds, isExceeded } = counted
    reply.header('ratelimit-policy', `"default";q=${quota};w=${WINDOW_SECONDS}`)
    reply.header('ratelimit', `"default";r=${remaining};t=${ttlInSeconds}`)
    if (!isExceeded) return
    throw new ProblemError('access.too_many_requests', {
      headers: { 'retry-after': String(ttlInSeconds) },
      detail: `${quota} requests may be made in ${WINDOW_SECONDS} seconds`,
    })
  }
}

function createPlaces(options: RequestLimitOptions): RequestLimits['enter'] {
  const { maxWaiting = MAX_WAITING, waitMs = WAIT_MS, refusalMs = REFUSAL_MS } = options
  const places = {
    requests: createKeyedSemaphore({ width: PLACES.requests, maxWaiting }),
    writes: createKeyedSemaphore({ width: PLACES.writes, maxWaiting }),
    streams: createKeyedSemaphore({ width: PLACES.streams, maxWaiting: 0 }),
  }
  const writing = createSemaphore(WRITES_AT_A_TIME)
  return async ({ scope, streams, body }, caller, ended) => {
    const writer = scope === 'watch' && caller.kind === 'reseller' ? caller.resellerId : undefined
    const kind = streams === true ? 'streams' : writer === undefined ? 'requests' : 'writes'
    const acquire = (limit?: () => AbortSignal) =>
      places[kind].acquire(String(writer ?? caller.limitKey), limit)
    const release = await acquire(() => AbortSignal.any([ended, AbortSignal.timeout(waitMs)]))
    if (release === undefined) {
      const detail = `${PLACES[kind]} ${kind} at a time`
      throw new ProblemError('access.too_many_requests', { detail, headers: RETRY_AFTER })
    }
    if (kind === 'streams') {
      whenAborted(ended, release)
      return { run: (handler) => handler((work) => work()) }
    }
    const refuse = () => (body === undefined ? release() : setTimeout(release, refusalMs).unref())
    const place = createPlace({ taken: release, acquire, refuse }, ended)
    return kind === 'requests' ? place : { run: (handler) => writing(() => place.run(handler)) }
  }
}

interface TakenPlace {
  readonly taken: Release
  readonly acquire: () => Promise<Release | undefined>
  /** Gives it back when the request has ended without its handler. */
  readonly refuse: () => unknown
}

function createPlace({ taken, acquire, refuse }: TakenPlace, ended: AbortSignal): Place {
  let release = taken
  let isHandled = false
  // A client that disconnects does not end the handler of its request.
  whenAborted(ended, () => isHandled || refuse())
  return {
    run: async (handler) => {
      ended.throwIfAborted()
      isHandled = true
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
        release()
      }
    },
  }
}

function whenAborted(signal: AbortSignal, act: () => unknown): void {
  if (signal.aborted) act()
  else signal.addEventListener('abort', act, { once: true })
}

/** Aborts when the response has ended, with what a handler that has not begun then throws. */
export function signalOfEnd(response: ServerResponse): AbortSignal {
  const ended = new AbortController()
  response.once('close', () =>
    ended.abort(new ProblemError('request.invalid', { detail: 'the client has disconnected' })),
  )
  return ended.signal
}
