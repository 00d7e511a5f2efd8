import packageJson from '../../package.json' with { type: 'json' }
import { WEBHOOK_EVENTS, WebhookEventShape } from '../delivery/operations/event-shapes.ts'
import { openApiDocument } from '../platform/http/openapi.ts'
import { HEADERS_OF_ALL } from '../platform/http/openapi-components.ts'
import answers from './api-examples.json' with { type: 'json' }
import { API_OPERATIONS } from './api-operations.ts'

const ABOUT = `Routes, fares and their changes.

Send a key as \`Authorization: Bearer fwk_…\`. \`bin/farewatch keys create\` creates one. Every failure is a problem of
RFC 9457 with a stable \`code\`. Lists have pages: pass \`next\` as \`cursor\` until it is null. A list parameter takes
commas or repetition: \`kinds=a,b\` or \`kinds=a&kinds=b\`. Every response has the headers
${HEADERS_OF_ALL.map((name) => `\`${name}\``).join(', ')}.`

const TAGS = {
  'The upstream’s interface':
    'The paths, parameters and shapes of the upstream, with a key of ours. They never change.',
  'Watch lists': 'Lists of watches.',
  Watches: 'A watch: its settings, what is known of its fare, and its history.',
  Changes: 'Your feed of changes, as pages and as a stream.',
  Webhooks: 'Endpoints to which changes are sent, and what was sent.',
  Operators: 'Running the service. For keys with the scope operate.',
  'Routes and places': 'Routes and places, their history and the feed of their changes.',
  Freshness: 'How old what is known is, and the runs of the route lists.',
  Keys: 'Your own keys, and signing in.',
}

/** The OpenAPI document of the API, as docs/reference/openapi.json holds it. */
export const API_DOCUMENT = openApiDocument(API_OPERATIONS, {
  info: {
    title: 'farewatch',
    version: packageJson.version,
    description: ABOUT,
    license: { name: packageJson.license, identifier: packageJson.license },
  },
  tags: TAGS,
  answers,
  events: WEBHOOK_EVENTS,
  eventUnion: WebhookEventShape,
})
