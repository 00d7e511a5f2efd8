import type { EndpointDeps } from '../delivery/endpoints/change-endpoints.ts'
import { ADDRESS_OPERATIONS } from '../delivery/operations/address-operations.ts'
import { DELIVERY_OPERATIONS } from '../delivery/operations/delivery-operations.ts'
import { WEBHOOK_ENDPOINT_OPERATIONS } from '../delivery/operations/endpoint-operations.ts'
import type { OnDemand } from '../fares/verify.ts'
import { VERIFY_OPERATIONS } from '../fares/verify-operations.ts'
import type { FeedHeads } from '../feeds/feed-heads.ts'
import {
  AVAILABILITY_CHANGE_OPERATIONS,
  ROUTE_CHANGE_OPERATIONS,
} from '../feeds/operations/operator-change-operations.ts'
import {
  OPERATOR_STREAM_OPERATIONS,
  WATCH_STREAM_OPERATIONS,
} from '../feeds/operations/stream-operations.ts'
import { WATCH_CHANGE_OPERATIONS } from '../feeds/operations/watch-change-operations.ts'
import type { Streams } from '../feeds/stream/streams.ts'
import type { FeedSource } from '../feeds/watch-feed-queries.ts'
import { QUEUE_OPERATIONS, type QueueControl } from '../health/queue-operations.ts'
import {
  STATUS_HISTORY_OPERATIONS,
  type StatusHistories,
} from '../health/status-history-operations.ts'
import { STATUS_OPERATIONS, type WorkState } from '../health/status-operations.ts'
import type { Clock } from '../platform/base/clock.ts'
import type { Logger } from '../platform/base/logger.ts'
import type { Scrub } from '../platform/base/secrets.ts'
import type { Operation } from '../platform/http/operation.ts'
import { KEY_OPERATIONS } from '../resellers/key-operations.ts'
import { RESELLER_OPERATIONS, SETTING_OPERATIONS } from '../resellers/reseller-operations.ts'
import type { GuardLimits } from '../routes/guard.ts'
import type { RenderedLists } from '../routes/read/export-routes.ts'
import { HELD_RUN_OPERATIONS } from '../routes/read/held-run-operations.ts'
import { HISTORY_OPERATIONS } from '../routes/read/history-operations.ts'
import { NETWORK_OPERATIONS } from '../routes/read/network-operations.ts'
import { ROUTE_OPERATIONS } from '../routes/read/route-operations.ts'
import { SYNC_RUN_OPERATIONS } from '../routes/read/sync-run-operations.ts'
import { BUDGET_OPERATIONS } from '../schedule/budget-operations.ts'
import { ANSWER_OPERATIONS } from '../views/answer-operations.ts'
import { CONTROL_OPERATIONS } from '../views/control-operations.ts'
import type { DelayReader } from '../views/detection-delays.ts'
import { FARE_OPERATIONS } from '../views/fare-operations.ts'
import { INCIDENT_OPERATIONS } from '../views/incident-operations.ts'
import { SAVE_WATCH_OPERATIONS } from '../views/save-watches-operations.ts'
import { VOCABULARY_OPERATIONS } from '../views/vocabulary-operations.ts'
import { WATCH_HISTORY_OPERATIONS } from '../views/watch-history-operations.ts'
import { WATCH_LINK_OPERATIONS } from '../views/watch-link-operations.ts'
import { WATCH_VIEW_OPERATIONS } from '../views/watch-view-operations.ts'
import type { disableReseller, enableReseller } from '../watches/change-watches.ts'
import { WATCH_LIST_OPERATIONS } from '../watches/operations/watch-list-operations.ts'
import { WATCH_OPERATIONS } from '../watches/operations/watch-operations.ts'
import type { countContents, markForDeletion } from './delete-reseller.ts'

/** The dependencies of all operations. Each operation declares the ones that it needs. */
export interface ApiDeps extends EndpointDeps, FeedSource {
  readonly routeLists: RenderedLists
  readonly queues: QueueControl
  readonly onDemand: OnDemand
  readonly feedHeads: FeedHeads
  readonly streams: Streams
  /** The shortest time between two checks of a fare. */
  readonly minRecheckSeconds: number
  readonly clock: Clock
  readonly disableReseller: typeof disableReseller
  readonly enableReseller: typeof enableReseller
  readonly countContents: typeof countContents
  readonly markForDeletion: typeof markForDeletion
  readonly log: Logger
  readonly scrub: Scrub
  readonly guard: GuardLimits
  /** The budget of upstream requests for all processes together. */
  readonly requestsPerSecond: number
  /** How long a change waits because of a mass. */
  readonly massHoldMs: number
  readonly statusHistories: StatusHistories
  readonly readWork?: (() => Promise<WorkState>) | undefined
  /** The version of farewatch. */
  readonly version: string
  /** Reads how late changes were detected. */
  readonly readDelays?: DelayReader
}

const ALL = [
  ...ROUTE_OPERATIONS,
  ...VERIFY_OPERATIONS,
  ...WATCH_LIST_OPERATIONS,
  ...WATCH_OPERATIONS,
  ...SAVE_WATCH_OPERATIONS,
  ...WATCH_VIEW_OPERATIONS,
  ...WATCH_HISTORY_OPERATIONS,
  ...WATCH_LINK_OPERATIONS,
  ...WATCH_CHANGE_OPERATIONS,
  ...VOCABULARY_OPERATIONS,
  ...WEBHOOK_ENDPOINT_OPERATIONS,
  ...DELIVERY_OPERATIONS,
  ...ADDRESS_OPERATIONS,
  ...WATCH_STREAM_OPERATIONS,
  ...ROUTE_CHANGE_OPERATIONS,
  ...HISTORY_OPERATIONS,
  ...NETWORK_OPERATIONS,
  ...STATUS_OPERATIONS,
  ...STATUS_HISTORY_OPERATIONS,
  ...SYNC_RUN_OPERATIONS,
  ...HELD_RUN_OPERATIONS,
  ...RESELLER_OPERATIONS,
  ...SETTING_OPERATIONS,
  ...KEY_OPERATIONS,
  ...INCIDENT_OPERATIONS,
  ...CONTROL_OPERATIONS,
  ...QUEUE_OPERATIONS,
  ...ANSWER_OPERATIONS,
  ...BUDGET_OPERATIONS,
  ...AVAILABILITY_CHANGE_OPERATIONS,
  ...FARE_OPERATIONS,
  ...OPERATOR_STREAM_OPERATIONS,
]

/** Every operation of the API, in the order of the documentation. */
export const API_OPERATIONS: readonly Operation<ApiDeps>[] = ALL

/** What the operations declare: a client takes the types of their answers from it. */
export type Declared = NonNullable<(typeof ALL)[number]['declared']>
