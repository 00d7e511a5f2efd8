import type { RouteListName } from '../../src/platform/base/kinds.ts'
import type { FetchRouteListOptions } from '../../src/upstream/lists/fetch-route-list.ts'
import type { RouteListBody } from '../../src/upstream/route-list.ts'
import type { UpstreamClient } from '../../src/upstream/upstream-client.ts'

/** Fetches a whole list, as a process does that holds none. */
export async function fetchList(
  client: Pick<UpstreamClient, 'fetchRouteListIfModified'>,
  list: RouteListName,
  options: Omit<FetchRouteListOptions, 'validators'>,
): Promise<RouteListBody> {
  const validators = { etag: null, lastModified: null }
  const body = await client.fetchRouteListIfModified(list, { ...options, validators })
  if (body === null) throw new Error('a list that was not asked about counts as unchanged')
  return body
}
