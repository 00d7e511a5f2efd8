import type { PermitRequest } from './breaker/acquire-permit.ts'
import { verdictOf } from './breaker/breaker-signal.ts'
import type { Permit } from './breaker/call-reporter.ts'
import { type CallRecord, type RecordDeps, recorded } from './call-record.ts'
import { type QuickRetryDeps, type QuickRetryOutcome, takeQuickRetry } from './quick-retry.ts'

export interface GuardDeps extends RecordDeps, QuickRetryDeps {
  /** Called once for every failure that might have passed, to count it. */
  readonly onQuickRetry: ((retry: QuickRetry) => void) | undefined
}

export interface QuickRetry {
  readonly endpoint: string
  readonly outcome: QuickRetryOutcome
}

/** Makes a call that has its permit, tells the breaker how it ended, and makes it a second time where that may help. */
export async function guardedCall<T>(
  deps: GuardDeps,
  call: PermitRequest & { readonly permit: Permit },
  run: (record: CallRecord) => Promise<T>,
): Promise<T> {
  const first = await attempt(deps, call, run)
  const { endpoint, group, signal } = call
  const permit = await takeQuickRetry(deps, { group, signal, record: first.record })
  if (permit === 'no_slot') deps.onQuickRetry?.({ endpoint, outcome: 'no_slot' })
  if (typeof permit === 'string') return resultOf(first)
  const second = await attempt(deps, { ...call, permit }, run)
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
  { endpoint, group, signal, permit }: PermitRequest & { readonly permit: Permit },
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
    await deps.breaker?.report(group, { record, permit })
  }
}

function resultOf<T>(ended: Attempt<T>): T {
  if ('error' in ended) throw ended.error
  return ended.value
}
