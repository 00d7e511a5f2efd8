import type { EndpointName } from '../endpoint-name.ts'
import type { LoggedRequest } from './request-log.ts'

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
