import { Type } from 'typebox'
import { WatchChangeKind } from '../../feeds/change-shapes.ts'
import { ENDPOINT_FORMATS } from '../../platform/base/kinds.ts'
import type { Logger } from '../../platform/base/logger.ts'
import type { Db } from '../../platform/db/database.ts'
import { inTransaction } from '../../platform/db/transaction.ts'
import { logOperation, operations } from '../../platform/http/operation.ts'
import { cursorsOf, onlyPage, PAGED, pageOf } from '../../platform/http/pages.ts'
import { object, oneOf } from '../../platform/http/schemas.ts'
import {
  createEndpoint,
  deleteEndpoint,
  type EndpointDeps,
  retryEndpoint,
  rotateSecret,
  updateEndpoint,
} from '../endpoints/change-endpoints.ts'
import { listEndpoints, lockEndpoint, requireEndpoint } from '../endpoints/endpoint-queries.ts'
import { MAX_ENDPOINTS } from '../endpoints/endpoint-settings.ts'
import {
  EndpointParams,
  EXAMPLE_ENDPOINT,
  OF_ENDPOINTS,
  optionalSettings,
  type ShownEndpoint,
  target,
  WebhookEndpoint,
  withSecret,
} from '../endpoints/endpoint-shapes.ts'
import { addExample, addTestEvent } from '../endpoints/test-events.ts'
import { TEST_LIMIT } from '../formats/target-limits.ts'

const { operator, reseller } = operations<
  EndpointDeps & { readonly db: Db; readonly log: Logger }
>()

const common = { ...OF_ENDPOINTS, path: '/api/v1/webhook-endpoints' } as const
const one = { ...common, path: `${common.path}/{endpointId}`, params: EndpointParams } as const

const listAll = reseller({
  ...common,
  id: 'listWebhookEndpoints',
  method: 'GET',
  summary: 'List your webhook endpoints, oldest first',
  scope: 'read',
  answer: { about: 'All endpoints.', schema: pageOf(WebhookEndpoint) },
  handler: async ({ db, resellerId }) => onlyPage(await listEndpoints(db, { resellerId })),
})

const cursors = cursorsOf('endpoints', WebhookEndpoint.properties.id, ({ id }: ShownEndpoint) => id)

const listOfAll = operator({
  id: 'listAllWebhookEndpoints',
  method: 'GET',
  path: '/api/v1/all-webhook-endpoints',
  tag: 'Operators',
  summary: 'List the webhook endpoints of all resellers, oldest first',
  scope: 'operate',
  ...PAGED,
  answer: { about: 'A page of endpoints.', schema: pageOf(WebhookEndpoint) },
  handler: ({ db }, { query }) => cursors.page(query, (page) => listEndpoints(db, page)),
})

const create = reseller({
  ...common,
  id: 'createWebhookEndpoint',
  method: 'POST',
  repeatable: true,
  summary: 'Create a webhook endpoint',
  description:
    `It receives the records after the present end of your feed. You may have ${MAX_ENDPOINTS}. The response is the only ` +
    'place where the secret appears. An e-mail address must be one that an operator has allowed.',
  scope: 'watch',
  body: object({ target, format: Type.Optional(oneOf(ENDPOINT_FORMATS)), ...optionalSettings }),
  answer: {
    about: 'The endpoint with its secret.',
    status: 201,
    schema: withSecret,
    location: `${common.path}/{id}`,
  },
  problems: ['quota.endpoints', 'delivery.no_encryption_key', 'delivery.address_not_allowed'],
  example: {
    body: {
      target: 'https://receiver.example/hooks/fares',
      description: 'booking engine',
      kinds: ['became_available', 'became_unavailable'],
    },
  },
  handler: async (deps, { body, caller, request }) => {
    const made = await createEndpoint(deps, deps, body)
    const event = { event: 'webhook endpoint created', endpointId: made.id }
    logOperation(deps.log, { caller, request }, event)
    return made
  },
})

const read = reseller({
  ...one,
  id: 'readWebhookEndpoint',
  method: 'GET',
  summary: 'Read a webhook endpoint',
  scope: 'read',
  answer: { about: 'The endpoint.', schema: WebhookEndpoint },
  problems: ['not_found'],
  example: { params: EXAMPLE_ENDPOINT },
  handler: (owner, { params }) => requireEndpoint(owner, params.endpointId),
})

const update = reseller({
  ...one,
  id: 'updateWebhookEndpoint',
  method: 'PATCH',
  lock: ({ db, resellerId }, { params }) =>
    inTransaction(db, (tx) => lockEndpoint(tx, resellerId, params.endpointId)),
  summary: 'Change a webhook endpoint',
  description:
    'Changes the given members and leaves the others. Null removes a filter. An endpoint that is enabled again continues ' +
    'where it stopped. A new e-mail address, and that of an endpoint that is enabled, must be one that an operator has allowed.',
  scope: 'watch',
  body: object({ target: Type.Optional(target), ...optionalSettings }),
  answer: { about: 'The endpoint.', schema: WebhookEndpoint },
  problems: ['not_found', 'delivery.no_encryption_key', 'delivery.address_not_allowed'],
  example: { params: EXAMPLE_ENDPOINT, body: { rules: { soldOut: true } } },
  logs: 'webhook endpoint changed',
  handler: (deps, { params: { endpointId: id }, body: given }) =>
    updateEndpoint(deps, deps, { id, given }),
})

const remove = reseller({
  ...one,
  id: 'deleteWebhookEndpoint',
  method: 'DELETE',
  summary: 'Delete a webhook endpoint with its deliveries',
  scope: 'watch',
  answer: { about: 'Deleted.', status: 204 },
  problems: ['not_found'],
  example: { params: EXAMPLE_ENDPOINT },
  logs: 'webhook endpoint deleted',
  handler: (deps, { params }) => deleteEndpoint(deps, params.endpointId),
})

const rotate = reseller({
  ...one,
  path: `${one.path}/rotate-secret`,
  id: 'rotateWebhookSecret',
  method: 'POST',
  repeatable: true,
  summary: 'Give a webhook endpoint a new secret',
  description:
    'For 24 hours each request is signed with the new and with the former secret. A fourth rotation within 24 hours is refused.',
  scope: 'watch',
  answer: { about: 'The endpoint with its new secret.', schema: withSecret },
  problems: [
    'not_found',
    'delivery.no_encryption_key',
    'delivery.unsigned_format',
    'quota.secret_rotations',
  ],
  example: { params: EXAMPLE_ENDPOINT },
  logs: 'webhook secret rotated',
  handler: (deps, { params }) => rotateSecret(deps, deps.sealer, params.endpointId),
})

const added = {
  about: 'The event is sent within seconds.',
  status: 202,
  schema: object({
    deliveryId: Type.String({ format: 'uuid', description: 'The `webhook-id` of the event.' }),
  }),
} as const

const test = reseller({
  ...one,
  path: `${one.path}/test`,
  id: 'testWebhookEndpoint',
  method: 'POST',
  repeatable: true,
  summary: 'Send a test event to a webhook endpoint',
  description:
    'The event has the type `webhook.test`. It is sent at once, before all that waits, and tried as a record is. ' +
    `Tests and examples together: at most ${TEST_LIMIT.atMost} an hour to a target, half of them at once, over all endpoints that have ` +
    'it.',
  scope: 'watch',
  answer: added,
  problems: ['not_found', 'delivery.endpoint_disabled', 'quota.tests'],
  example: { params: EXAMPLE_ENDPOINT },
  handler: async (owner, { params }) => ({
    deliveryId: await addTestEvent(owner, params.endpointId),
  }),
})

const retry = reseller({
  ...one,
  path: `${one.path}/retry`,
  id: 'retryWebhookEndpoint',
  method: 'POST',
  repeatable: true,
  summary: 'Try the failed deliveries of a webhook endpoint again at once',
  description:
    'Ends the pause after failures, and the one that your receiver asked for. Deliveries that failed before are due now and ' +
    'have all their attempts before them again.',
  scope: 'watch',
  answer: {
    about: 'How many deliveries are due now. They are sent within seconds.',
    status: 202,
    schema: object({ due: Type.Integer() }),
  },
  problems: ['not_found', 'delivery.endpoint_disabled'],
  example: { params: EXAMPLE_ENDPOINT },
  handler: async (owner, { params }) => ({ due: await retryEndpoint(owner, params.endpointId) }),
})

const trigger = reseller({
  ...one,
  path: `${one.path}/trigger`,
  id: 'triggerWebhookExample',
  method: 'POST',
  repeatable: true,
  summary: 'Send an example of a record to a webhook endpoint',
  description:
    'The event has the type `example.` and the kind. It has no number and is no part of your feed. It is sent as a test is.',
  scope: 'watch',
  body: object({ kind: WatchChangeKind }),
  answer: added,
  problems: ['not_found', 'delivery.endpoint_disabled', 'quota.tests'],
  example: { params: EXAMPLE_ENDPOINT, body: { kind: 'became_unavailable' } },
  handler: async (owner, { params, body }) => ({
    deliveryId: await addExample(owner, params.endpointId, body.kind),
  }),
})

/** The operations with which a reseller manages its webhook endpoints. */
export const WEBHOOK_ENDPOINT_OPERATIONS = [
  listAll,
  listOfAll,
  create,
  read,
  update,
  remove,
  rotate,
  test,
  retry,
  trigger,
]
