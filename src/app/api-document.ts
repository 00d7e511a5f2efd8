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

/** The OpenAPI document of the API, as docs/reference/openapi.json holds it. */
export const API_DOCUMENT = openApiDocument(API_OPERATIONS, {
  info: { title: 'farewatch', version: packageJson.version, description: ABOUT },
  answers,
  events: WEBHOOK_EVENTS,
  eventUnion: WebhookEventShape,
})
