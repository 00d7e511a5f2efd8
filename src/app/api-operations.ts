import type { Db } from '../db/database.ts'
import type { Operation } from '../http/operation.ts'
import { ROUTE_OPERATIONS } from '../route-sync/route-endpoints.ts'
import { SYNC_RUN_OPERATIONS } from '../route-sync/sync-run-endpoints.ts'

/** What the handlers of all operations work with; each declares the part that it needs. */
export interface ApiDeps {
  readonly db: Db
}

/** Every operation of the API, in the order of its documentation. Each feature brings its own. */
export const API_OPERATIONS: readonly Operation<ApiDeps>[] = [
  ...ROUTE_OPERATIONS,
  ...SYNC_RUN_OPERATIONS,
]
