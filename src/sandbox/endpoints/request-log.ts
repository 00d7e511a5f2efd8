import type { EndpointName } from '../answer.ts'
import type { FaultName } from '../faults/fault-rule.ts'
import type { VerifyQuestion } from '../verify-fares.ts'

/** One request as the sandbox saw it. Never holds the token. */
export interface LoggedRequest {
  /** Dense, from 1. */
  readonly seq: number
  /** When the request came in, in milliseconds since 1970. */
  readonly realMs: number
  /** The instant of the world for which it was answered, ISO 8601. */
  readonly worldTime: string
  readonly endpoint: EndpointName
  /** Null on the list endpoints, and where the request was refused before it was understood. */
  readonly question: VerifyQuestion | null
  readonly outcome: RequestOutcome
  /** The fault that struck, if one did. */
  readonly fault: FaultName | null
}

export interface RequestOutcome {
  /** Null where the client was sent no status at all. */
  readonly status: number | null
  /**
   * For each flight id that was asked, what the answer said. An id is missing where the answer said nothing that
   * the interface gives a meaning to, and all of it where no client can have understood the answer.
   */
  readonly available?: Readonly<Record<string, boolean>>
}

export interface LogPage {
  /** With `seq` above the one asked for, in order. */
  readonly entries: readonly LoggedRequest[]
  /** Ask for what is after this next. */
  readonly next: number
  /** The oldest entry still held; what is before it is gone. 0 while the log is empty. */
  readonly oldest: number
}

export interface RequestLog {
  record(request: Omit<LoggedRequest, 'seq'>): void
  after(seq: number, limit: number): LogPage
  /** Those still held that came in from `fromMs` up to, not at, `toMs`, in order. */
  between(fromMs: number, toMs: number): LoggedRequest[]
  /** How many were ever recorded. */
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

/** The requests of one second to one endpoint. */
export interface SecondCount {
  /** Real time, ISO 8601, a whole second. */
  readonly second: string
  readonly endpoint: EndpointName
  readonly count: number
  /** By status; `none` counts requests that were sent no status. */
  readonly byStatus: Readonly<Record<string, number>>
}

/** One element for each second and endpoint with a request, in order of their first request. */
export function countBySecond(requests: readonly LoggedRequest[]): SecondCount[] {
  const groups = Map.groupBy(
    requests,
    ({ realMs, endpoint }) => `${Math.floor(realMs / 1000)} ${endpoint}`,
  )
  return [...groups.values()].flatMap((group) => {
    const [first] = group
    if (!first) return []
    const second = new Date(Math.floor(first.realMs / 1000) * 1000).toISOString()
    const statuses = Map.groupBy(group, ({ outcome }) => String(outcome.status ?? 'none'))
    const byStatus = [...statuses].map(([status, some]) => [status, some.length] as const)
    return [
      {
        second,
        endpoint: first.endpoint,
        count: group.length,
        byStatus: Object.fromEntries(byStatus),
      },
    ]
  })
}
