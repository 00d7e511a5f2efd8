import { setTimeout as delay } from 'node:timers/promises'
import { createTtlCache } from '../platform/base/cache.ts'
import { messageOf } from '../platform/base/errors.ts'
import type { Logger } from '../platform/base/logger.ts'
import type { ResellerId } from '../platform/base/reseller-id.ts'
import type { Db } from '../platform/db/database.ts'
import type { Access, Caller, OperatorCaller } from '../platform/http/operation.ts'
import { findGrants, hashOf, isWellFormedKey, type KeyGrant, recordKeyUse } from './api-keys.ts'
import { type Reseller, requireAccount } from './resellers.ts'

interface CheckKeysDeps {
  readonly db: Db
  readonly log: Logger
  /** A monotonic clock. */
  readonly nowMs: () => number
}

export interface KeyAccess extends Access {
  /** Looks every key up again at its next use. Call it when a key was revoked. */
  forget(): void
  /** Resolves when every recorded key use is written. */
  allUsesRecorded(): Promise<void>
}

/** A revocation takes effect within a second: this time, plus the lookup that is running. */
const CACHE_MS = 900
const MAX_KEYS = 10_000
const RECORD_USE_EVERY_MS = 60_000
/**
 * Lookups of keys that are not cached are batched, so guessing keys costs at most 100 queries a second. A valid key is
 * delayed by at most 10 ms and never rejected.
 */
const BATCH_INTERVAL_MS = 10

/** Checks the keys of requests against the database. A valid key is cached for less than a second. */
export function createKeyAccess({ db, log, nowMs }: CheckKeysDeps): KeyAccess {
  // Unknown keys are not cached: otherwise guessed keys would evict valid ones.
  const grants = createTtlCache<CachedGrant | undefined>({
    ttlMs: CACHE_MS,
    nowMs,
    maxKeys: MAX_KEYS,
    isCacheable: (grant) => grant !== undefined,
  })
  const lookup = createBatchLoader<KeyGrant>({
    load: (hashes) => findGrants(db, hashes),
    intervalMs: BATCH_INTERVAL_MS,
  })
  const uses = createUseRecorder({ db, log, nowMs })
  return {
    callerOf: async (key, reseller) => {
      if (!isWellFormedKey(key)) return 'mistyped'
      // The cache is keyed by hash, so that the text of a key stays in memory no longer than its request.
      const hash = hashOf(key).toString('base64')
      const grant = await grants.get(hash, async () => {
        const queriedAtMs = nowMs()
        return withEnd(await lookup.find(hash), queriedAtMs)
      })
      if (grant === undefined || nowMs() >= grant.endsAtMs) return 'unknown'
      uses.record(grant.id)
      const caller = callerOfGrant(grant)
      return reseller === undefined || caller.kind === 'reseller'
        ? caller
        : actingFor(caller, await requireAccount(db, reseller))
    },
    forget: grants.clear,
    allUsesRecorded: uses.allUsesRecorded,
  }
}

interface CachedGrant extends KeyGrant {
  /** When the key expires, by `nowMs`. */
  readonly endsAtMs: number
}

/** The expiry counts from before the query, so a key may end early by the time of the query but never late. */
function withEnd(grant: KeyGrant | undefined, queriedAtMs: number): CachedGrant | undefined {
  if (grant === undefined) return undefined
  return { ...grant, endsAtMs: queriedAtMs + (grant.endsInMs ?? Number.POSITIVE_INFINITY) }
}

function callerOfGrant({ id, resellerId, resellerName, scopes }: KeyGrant): Caller {
  const shared = { keyId: id, scopes, limitKey: `key ${id}` }
  if (resellerId === null) return { kind: 'operator', ...shared }
  return { kind: 'reseller', resellerId, resellerName: resellerName ?? '', ...shared }
}

/**
 * An operator that calls for a reseller: what it may do follows from the scopes of its own key, under which its changes
 * are recorded.
 */
export function actingFor(
  { scopes, ...operator }: OperatorCaller,
  { id, name }: Pick<Reseller, 'id' | 'name'>,
): Caller {
  return {
    ...operator,
    kind: 'reseller',
    resellerId: id as ResellerId,
    resellerName: name,
    scopes: scopes.map((scope) => (scope === 'operate' ? 'watch' : scope)),
  }
}

/** Records key uses in the background: no request waits for the write, and a failure is only logged. */
function createUseRecorder({ db, log, nowMs }: CheckKeysDeps) {
  const recordedAtMs = new Map<number, number>()
  const writing = new Set<Promise<unknown>>()
  return {
    record: (keyId: number) => {
      const now = nowMs()
      const last = recordedAtMs.get(keyId)
      if (last !== undefined && now - last < RECORD_USE_EVERY_MS) return
      recordedAtMs.set(keyId, now)
      const write = recordKeyUse(db, keyId).catch((err: unknown) => {
        log.warn({ keyId, reason: messageOf(err) }, 'use of a key could not be recorded')
      })
      writing.add(write)
      void write.finally(() => writing.delete(write))
    },
    allUsesRecorded: async () => {
      await Promise.all(writing)
    },
  }
}

interface BatchLoader<T> {
  /** The value of a key, or undefined if the batch did not return one. */
  find(key: string): Promise<T | undefined>
}

interface BatchLoaderOptions<T> {
  readonly load: (keys: readonly string[]) => Promise<ReadonlyMap<string, T>>
  /** The minimum time between the starts of two batches. */
  readonly intervalMs: number
}

/**
 * Collects keys and loads them in batches, at most one batch per interval. The first key after a pause is loaded at
 * once. A call waits at most one interval plus the load itself.
 */
export function createBatchLoader<T>({ load, intervalMs }: BatchLoaderOptions<T>): BatchLoader<T> {
  let pause: Promise<unknown> = Promise.resolve()
  let keys = new Set<string>()
  let next: Promise<ReadonlyMap<string, T>> | undefined

  const loadNext = async () => {
    await pause
    pause = delay(intervalMs)
    const batch = [...keys]
    keys = new Set()
    next = undefined
    return load(batch)
  }
  return {
    find: async (key) => {
      keys.add(key)
      next ??= loadNext()
      return (await next).get(key)
    },
  }
}
