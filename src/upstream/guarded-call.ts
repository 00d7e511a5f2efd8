import { type CallRecord, type RecordDeps, recorded } from './call-record.ts'
import { verdictOf } from './health/call-verdict.ts'
import type { Pass } from './health/health-reporter.ts'
import type { GatedCall } from './pass-gate.ts'
import { type QuickRetryDeps, type QuickRetryOutcome, takeQuickRetry } from './quick-retry.ts'

export interface GuardDeps extends RecordDeps, QuickRetryDeps {
  /** Called once for every failure that might have passed, to count it. */
  readonly onQuickRetry: ((retry: QuickRetry) => void) | undefined
}

export interface QuickRetry {
  readonly endpoint: string
  readonly outcome: QuickRetryOutcome
}

/** Makes a call that has its pass, tells the gate how it ended, and makes it a second time where that may help. */
export async function guardedCall<T>(
  deps: GuardDeps,
  call: GatedCall & { readonly pass: Pass },
  run: (record: CallRecord) => Promise<T>,
): Promise<T> {
  const first = await attempt(deps, call, run)
  const { endpoint, group, signal } = call
  const pass = await takeQuickRetry(deps, { group, signal, record: first.record })
  if (pass === 'no_slot') deps.onQuickRetry?.({ endpoint, outcome: 'no_slot' })
  if (typeof pass === 'string') return resultOf(first)
  const second = await attempt(deps, { ...call, pass }, run)
  const mended = verdictOf(second.record) === 'good'
  deps.onQuickRetry?.({ endpoint, outcome: mended ? 'mended' : 'failed' })
  return resultOf(second)
}

type Attempt<T> = { readonly record: CallRecord } & (
  | { readonly value: T }
  | { readonly error: unknown }
)

async function attempt<T>(
  deps: GuardDeps,
  { endpoint, group, signal, pass }: GatedCall & { readonly pass: Pass },
  run: (record: CallRecord) => Promise<T>,
): Promise<Attempt<T>> {
  let record: CallRecord = { status: undefined, bytes: 0, outcome: 'internal' }
  const noted = (own: CallRecord) => {
    record = own
    return run(own)
  }
  try {
    const value = await recorded(deps, { endpoint, signal }, noted)
    return { record, value }
  } catch (error) {
    return { record, error }
  } finally {
    await deps.gate?.report(group, { record, pass })
  }
}

function resultOf<T>(ended: Attempt<T>): T {
  if ('error' in ended) throw ended.error
  return ended.value
}
