import type { CallRecord } from '../call-record.ts'
import type { BreakerName, Meaning } from './breaker-state.ts'

/**
 * What the end of a call says of the upstream: a good answer; an odd one, which is an answer too; no answer, or a
 * server error; our credential refused (401), or perhaps (403, a login page); a wait asked for; nothing at all.
 */
export type Verdict = 'good' | 'odd' | 'trouble' | 'refused' | 'forbidden' | 'limited' | 'none'

/** Our own cap on connections, not a failure of theirs. */
const NO_CONNECTION = 'NO_FREE_CONNECTION'

/**
 * Every outcome that a call can have. The breakers, the alert UpstreamErrors and the panel "Good answers" go by it: an
 * outcome that is good to one is good to all.
 */
const BY_OUTCOME: Readonly<Record<string, Verdict>> = {
  ok: 'good',
  'upstream.not_modified': 'good',
  // The question was understood and refused, by somebody who was there.
  'upstream.http_4xx': 'good',
  'upstream.id_missing': 'good',
  'upstream.timeout': 'trouble',
  'upstream.http_5xx': 'trouble',
  // Unless the connection was one too many of ours.
  'upstream.network': 'trouble',
  'upstream.rate_limited': 'limited',
  // By a 401 for certain.
  'upstream.auth': 'forbidden',
  'upstream.redirect': 'odd',
  'upstream.too_large': 'odd',
  'upstream.contract_violation': 'odd',
  'upstream.malformed': 'odd',
  aborted: 'none',
  internal: 'none',
}

export const CALL_OUTCOMES: readonly string[] = Object.keys(BY_OUTCOME)
export const GOOD_OUTCOMES = CALL_OUTCOMES.filter((outcome) => BY_OUTCOME[outcome] === 'good')

export function verdictOf({
  outcome,
  status,
  reason,
}: Pick<CallRecord, 'outcome' | 'status' | 'reason'>): Verdict {
  if (outcome === 'upstream.auth' && status === 401) return 'refused'
  if (outcome === 'upstream.network' && reason === NO_CONNECTION) return 'none'
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
