export {
  createFarewatch,
  dataOf,
  type Farewatch,
  FarewatchError,
  type FarewatchOptions,
} from './client.ts'
export type * from './schema.ts'
export {
  FeedRestoredError,
  followWatchChanges,
  type StreamOptions,
} from './stream.ts'
export {
  type ReceivedWebhook,
  type VerifiedWebhook,
  type VerifyOptions,
  verifyWebhook,
  WebhookError,
} from './webhook.ts'
