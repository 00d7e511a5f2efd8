import { messageOf } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import type { ResellerId } from '../base/reseller-id.ts'
import type { Db } from '../db/database.ts'
import type { Access, Caller } from '../http/caller.ts'
import { GRANTABLE } from './api-keys.ts'
import { createBriefMemory } from './brief-memory.ts'
import { createGatheredQuestions } from './gathered-questions.ts'
import { findGrants, findOpenReseller, type KeyGrant, noteUse } from './key-queries.ts'
import { hashOf, isWellFormedKey } from './key-text.ts'

export interface CheckKeysDeps {
  readonly db: Db
  readonly log: Logger
  /** Milliseconds that only ever grow. */
  readonly nowMs: () => number
  /** The name of the reseller that is open to this machine until a first key exists; none where missing. */
  readonly openReseller?: string | undefined
}

export interface KeyAccess extends Access {
  /** Resolves once no use is being noted any more. */
  settled(): Promise<void>
}

/** A revocation holds within a second: this, and the request that is under way. */
const MEMORY_MS = 900
const MAX_KEYS = 10_000
const NOTE_EVERY_MS = 60_000
/** A hundred questions a second, whatever keys somebody makes up, and nobody waits for longer than one would notice. */
const ASK_EVERY_MS = 10

/** Checks the keys of requests against the database, remembering each good one for less than a second. */
export function createKeyAccess({ db, log, nowMs, openReseller }: CheckKeysDeps): KeyAccess {
  const memory = { forMs: MEMORY_MS, nowMs, maxKeys: MAX_KEYS }
  // A key that is none takes no place of one: nobody could forget the good ones for us by making keys up.
  const grants = createBriefMemory<HeldGrant | undefined>({
    ...memory,
    isKept: (grant) => grant !== undefined,
  })
  const lookup = createGatheredQuestions<KeyGrant>({
    ask: (hashes) => findGrants(db, hashes),
    everyMs: ASK_EVERY_MS,
  })
  const open = createBriefMemory<ResellerId | undefined>(memory)
  const uses = createUseNotes({ db, log, nowMs })
  return {
    callerOf: async (key) => {
      if (!isWellFormedKey(key)) return 'mistyped'
      // By the hash: the text of a key stays nowhere longer than its request.
      const hash = hashOf(key).toString('base64')
      const grant = await grants.get(hash, async () => {
        const askedAtMs = nowMs()
        return held(await lookup.find(hash), askedAtMs)
      })
      if (grant === undefined || nowMs() >= grant.endsAtMs) return 'unknown'
      uses.note(grant.id)
      return callerOfGrant(grant)
    },
    callerWithoutKey: async () => {
      if (openReseller === undefined) return undefined
      const resellerId = await open.get('', () => findOpenReseller(db, openReseller))
      if (resellerId === undefined) return undefined
      const scopes = GRANTABLE.reseller
      return { kind: 'reseller', resellerId, scopes, limitKey: 'demo', demo: true }
    },
    settled: uses.settled,
  }
}

interface HeldGrant extends KeyGrant {
  /** By the clock of this process. */
  readonly endsAtMs: number
}

/** Counted from before the question: a key ends too early by what the question took, and never too late. */
function held(grant: KeyGrant | undefined, askedAtMs: number): HeldGrant | undefined {
  if (grant === undefined) return undefined
  return { ...grant, endsAtMs: askedAtMs + (grant.endsInMs ?? Number.POSITIVE_INFINITY) }
}

function callerOfGrant({ id, resellerId, scopes }: KeyGrant): Caller {
  const shared = { scopes, limitKey: `key ${id}`, demo: false }
  if (resellerId === null) return { kind: 'operator', ...shared }
  return { kind: 'reseller', resellerId, ...shared }
}

/** Notes the use of keys beside the requests: what fails there is logged, and no request waits for it. */
function createUseNotes({ db, log, nowMs }: Pick<CheckKeysDeps, 'db' | 'log' | 'nowMs'>) {
  const notedAtMs = new Map<number, number>()
  const writing = new Set<Promise<unknown>>()
  return {
    note: (keyId: number) => {
      const now = nowMs()
      const last = notedAtMs.get(keyId)
      if (last !== undefined && now - last < NOTE_EVERY_MS) return
      notedAtMs.set(keyId, now)
      const write = noteUse(db, keyId).catch((err: unknown) => {
        log.warn({ keyId, reason: messageOf(err) }, 'use of a key could not be noted')
      })
      writing.add(write)
      void write.finally(() => writing.delete(write))
    },
    settled: async () => {
      await Promise.all(writing)
    },
  }
}
