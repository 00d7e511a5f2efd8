import type { OperationName } from '../answer.ts'
import type { FaultName } from '../faults/fault-rule.ts'
import type { VerifyQuestion } from '../verify-fares.ts'

/** One request. Never contains the token. */
export interface LoggedRequest {
  /** Dense, from 1. */
  readonly seq: number
  /** When the request arrived, in milliseconds since 1970. */
  readonly realMs: number
  /** The instant of the world that the answer describes, ISO 8601. */
  readonly worldTime: string
  readonly endpoint: OperationName
  /** Null for the lists, and for an invalid request. */
  readonly question: VerifyQuestion | null
  readonly outcome: RequestOutcome
  /** The fault that was triggered, if any. */
  readonly fault: FaultName | null
}

export interface RequestOutcome {
  /** Null if no status was sent. */
  readonly status: number | null
  /** The availability that a client reads, by requested flight id; missing if it can read none. */
  readonly available?: Readonly<Record<string, boolean>>
}

export interface LogPage {
  /** In order of `seq`. */
  readonly entries: readonly LoggedRequest[]
  /** The `after` of the next page. */
  readonly next: number
  /** The oldest kept entry; 0 while the log is empty. */
  readonly oldest: number
}

export interface RequestLog {
  record(request: Omit<LoggedRequest, 'seq'>): void
  after(seq: number, limit: number): LogPage
  /** The kept requests that arrived from `fromMs` on and before `toMs`, in order. */
  between(fromMs: number, toMs: number): LoggedRequest[]
  /** The number of requests ever recorded. */
  count(): number
}

/** Keeps the last `capacity` requests in memory, about 400 bytes each. */
export function createRequestLog(capacity: number): RequestLog {
  const ring: LoggedRequest[] = []
  let last = 0
  return {
    record(request) {
      last += 1
      ring[(last - 1) % capacity] = { seq: last, ...request }
    },
    after(seq, limit) {
      const oldest = Math.min(last, Math.max(1, last - capacity + 1))
      const first = Math.max(oldest, seq + 1)
      const end = Math.min(last, first + limit - 1)
      const entries: LoggedRequest[] = []
      for (let at = first; at <= end; at++) {
        const entry = ring[(at - 1) % capacity]
        if (entry?.seq === at) entries.push(entry)
      }
      return { entries, next: entries.at(-1)?.seq ?? seq, oldest }
    },
    between(fromMs, toMs) {
      const held = ring.filter(({ realMs }) => realMs >= fromMs && realMs < toMs)
      return held.sort((a, b) => a.seq - b.seq)
    },
    count: () => last,
  }
}

/** The requests to one operation in one second. */
export interface SecondCount {
  /** Real time, ISO 8601, a whole second. */
  readonly second: string
  readonly endpoint: OperationName
  readonly count: number
  /** The number of answers by status; `none` counts answers without a status. */
  readonly byStatus: Readonly<Record<string, number>>
}

/** Counts requests by second and operation, in the order of the first request of each. */
export function countBySecond(requests: readonly LoggedRequest[]): SecondCount[] {
  const secondOf = (ms: number) => new Date(Math.floor(ms / 1000) * 1000).toISOString()
  const groups = Map.groupBy(requests, ({ realMs, endpoint }) => `${secondOf(realMs)} ${endpoint}`)
  return [...groups.values()].flatMap((group) => {
    const [first] = group
    if (!first) return []
    const statuses = Map.groupBy(group, ({ outcome }) => String(outcome.status ?? 'none'))
    const byStatus = Object.fromEntries([...statuses].map(([name, some]) => [name, some.length]))
    const { realMs, endpoint } = first
    return [{ second: secondOf(realMs), endpoint, count: group.length, byStatus }]
  })
}
