import type { EndpointDeps } from '../delivery/endpoints/change-endpoints.ts'
import { DELIVERY_OPERATIONS } from '../delivery/endpoints/delivery-endpoints.ts'
import { DELIVERY_LOG_OPERATIONS } from '../delivery/endpoints/delivery-log-endpoints.ts'
import { WEBHOOK_ENDPOINT_OPERATIONS } from '../delivery/endpoints/webhook-endpoints.ts'
import { INCIDENT_OPERATIONS } from '../fares/hold/incident-endpoints.ts'
import type { OnDemand } from '../fares/on-demand/coalesce-requests.ts'
import { VERIFY_OPERATIONS } from '../fares/on-demand/verify-endpoints.ts'
import { AVAILABILITY_CHANGE_OPERATIONS } from '../feeds/availability-change-endpoints.ts'
import type { FeedHeads } from '../feeds/feed-heads.ts'
import { ROUTE_CHANGE_OPERATIONS } from '../feeds/route-change-endpoints.ts'
import { OPERATOR_STREAM_OPERATIONS } from '../feeds/stream/operator-stream-endpoints.ts'
import type { Streams } from '../feeds/stream/streams.ts'
import { WATCH_STREAM_OPERATIONS } from '../feeds/stream/watch-stream-endpoints.ts'
import { WATCH_CHANGE_OPERATIONS } from '../feeds/watch-change-endpoints.ts'
import type { Clock } from '../platform/base/clock.ts'
import type { Logger } from '../platform/base/logger.ts'
import type { Scrub } from '../platform/base/secrets.ts'
import type { Db } from '../platform/db/database.ts'
import type { Operation } from '../platform/http/operation.ts'
import { KEY_OPERATIONS } from '../resellers/key-endpoints.ts'
import { RESELLER_OPERATIONS } from '../resellers/reseller-endpoints.ts'
import type { GuardLimits } from '../routes/plan/guard.ts'
import { HISTORY_OPERATIONS } from '../routes/read/history-endpoints.ts'
import { NETWORK_OPERATIONS } from '../routes/read/network-endpoints.ts'
import type { RenderedLists } from '../routes/read/rendered-lists.ts'
import { ROUTE_OPERATIONS } from '../routes/read/route-endpoints.ts'
import { SYNC_RUN_OPERATIONS } from '../routes/read/sync-run-endpoints.ts'
import { REVIEW_OPERATIONS } from '../routes/review/review-endpoints.ts'
import { BUDGET_OPERATIONS } from '../schedule/budget-endpoints.ts'
import type { DelayReader } from '../views/detection-delay.ts'
import { FARE_OPERATIONS } from '../views/fare-endpoints.ts'
import { STATUS_OPERATIONS } from '../views/status-endpoints.ts'
import { WATCH_HISTORY_OPERATIONS } from '../views/watch-history-endpoints.ts'
import { WATCH_STRIP_OPERATIONS } from '../views/watch-strips-endpoints.ts'
import { WATCH_VIEW_OPERATIONS } from '../views/watch-view-endpoints.ts'
import type { disableReseller } from '../watches/change-watches.ts'
import { SAVE_WATCH_OPERATIONS } from '../watches/operations/save-watches-endpoints.ts'
import { WATCH_OPERATIONS } from '../watches/operations/watch-endpoints.ts'
import { WATCH_LIST_OPERATIONS } from '../watches/operations/watch-list-endpoints.ts'

/** The dependencies of all operations. Each operation declares the ones that it needs. */
export interface ApiDeps extends EndpointDeps {
  readonly db: Db
  readonly routeLists: RenderedLists
  readonly onDemand: OnDemand
  readonly feedHeads: FeedHeads
  readonly streams: Streams
  /** The shortest time between two checks of a fare. */
  readonly minRecheckSeconds: number
  readonly clock: Clock
  readonly disableReseller: typeof disableReseller
  readonly log: Logger
  readonly scrub: Scrub
  readonly guard: GuardLimits
  /** The budget of upstream requests for all processes together. */
  readonly requestsPerSecond: number
  /** The version of farewatch. */
  readonly version: string
  /** Reads how late changes were detected. */
  readonly readDelays?: DelayReader
}

/** Every operation of the API, in the order of the documentation. */
export const API_OPERATIONS: readonly Operation<ApiDeps>[] = [
  ...ROUTE_OPERATIONS,
  ...VERIFY_OPERATIONS,
  ...WATCH_LIST_OPERATIONS,
  ...WATCH_OPERATIONS,
  ...SAVE_WATCH_OPERATIONS,
  ...WATCH_VIEW_OPERATIONS,
  ...WATCH_HISTORY_OPERATIONS,
  ...WATCH_STRIP_OPERATIONS,
  ...WATCH_CHANGE_OPERATIONS,
  ...WEBHOOK_ENDPOINT_OPERATIONS,
  ...DELIVERY_OPERATIONS,
  ...DELIVERY_LOG_OPERATIONS,
  ...WATCH_STREAM_OPERATIONS,
  ...ROUTE_CHANGE_OPERATIONS,
  ...HISTORY_OPERATIONS,
  ...NETWORK_OPERATIONS,
  ...STATUS_OPERATIONS,
  ...SYNC_RUN_OPERATIONS,
  ...REVIEW_OPERATIONS,
  ...RESELLER_OPERATIONS,
  ...KEY_OPERATIONS,
  ...INCIDENT_OPERATIONS,
  ...BUDGET_OPERATIONS,
  ...AVAILABILITY_CHANGE_OPERATIONS,
  ...FARE_OPERATIONS,
  ...OPERATOR_STREAM_OPERATIONS,
]
