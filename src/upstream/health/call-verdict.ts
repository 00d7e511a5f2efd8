import type { CallRecord } from '../call-record.ts'
import type { BreakerName, Meaning } from './breaker.ts'

/**
 * What the end of a call says of the upstream: a good answer; an odd one, which is an answer too; no answer, or a
 * server error; our credential refused (401), or perhaps (403, a login page); a wait asked for; nothing at all.
 */
export type Verdict = 'good' | 'odd' | 'trouble' | 'refused' | 'forbidden' | 'limited' | 'none'

/** Our own cap on connections, not a failure of theirs. */
const NO_CONNECTION = 'NO_FREE_CONNECTION'

const BY_OUTCOME: Readonly<Record<string, Verdict>> = {
  ok: 'good',
  'upstream.not_modified': 'good',
  // The question was understood and refused, by somebody who was there.
  'upstream.http_4xx': 'good',
  'upstream.id_missing': 'good',
  'upstream.timeout': 'trouble',
  'upstream.http_5xx': 'trouble',
  'upstream.rate_limited': 'limited',
  aborted: 'none',
  internal: 'none',
}

export function verdictOf({
  outcome,
  status,
  reason,
}: Pick<CallRecord, 'outcome' | 'status' | 'reason'>): Verdict {
  if (outcome === 'upstream.auth') return status === 401 ? 'refused' : 'forbidden'
  if (outcome === 'upstream.network') return reason === NO_CONNECTION ? 'none' : 'trouble'
  return BY_OUTCOME[outcome] ?? 'odd'
}

/** What a verdict means to a breaker. A server that refuses us is up; one that is down says nothing of our credential. */
export function meaningFor(breaker: BreakerName, verdict: Verdict): Meaning {
  if (verdict === 'none') return 'unasked'
  if (breaker === 'errors') return verdict === 'trouble' ? 'failure' : 'good'
  if (verdict === 'refused') return 'fatal'
  if (verdict === 'forbidden') return 'failure'
  return verdict === 'good' ? 'good' : 'nothing'
}
