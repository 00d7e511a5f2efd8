import packageJson from '../../package.json' with { type: 'json' }
import { openApiDocument } from '../http/openapi.ts'
import { API_OPERATIONS } from './api-operations.ts'

const ABOUT = `Routes, fares and their changes, as farewatch holds them.

Send a key as \`Authorization: Bearer fwk_…\`; \`bin/farewatch keys create\` makes one. Every failure is a problem of
RFC 9457 with a stable \`code\`. Lists are read page by page: pass \`next\` as \`cursor\` until it is null.`

/** The OpenAPI document of the API, as docs/reference/openapi.json holds it. */
export const API_DOCUMENT = openApiDocument(API_OPERATIONS, {
  title: 'farewatch',
  version: packageJson.version,
  description: ABOUT,
})
