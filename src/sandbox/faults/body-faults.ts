import { ENDPOINT_NAMES } from '../endpoint-name.ts'
import { defineFault, type FaultKind, JSON_ENDPOINTS, replaced, unheard } from './fault-kind.ts'
import { mediaType } from './fault-parameters.ts'

const HTML_TYPE = 'text/html; charset=utf-8'
const MAINTENANCE = page('<h1>We will be back soon</h1>')
const LOGIN = page(
  '<form method="post" action="/login"><input name="user"><input name="password" type="password">' +
    '<button>Log in</button></form>',
)
const ERROR = { code: 'internal', message: 'something went wrong' }

/** Faults that answer 200 with a body that is none of the interface's. */
export const BODY_FAULTS = {
  html: page200('a page of HTML under 200', MAINTENANCE),
  'login-page': page200('a login form under 200', LOGIN),
  empty: json200('an empty body under 200', ''),
  null: json200('null under 200', 'null'),
  'empty-object': json200('{} under 200', '{}'),
  'empty-array': json200('[] under 200', '[]'),
  'error-in-200': json200('{"error": …} under 200', JSON.stringify({ error: ERROR })),
  'wrong-type': defineFault({
    summary: 'the honest body under another content type',
    endpoints: ENDPOINT_NAMES,
    parameters: { type: mediaType('text/plain') },
    prepare:
      ({ type }) =>
      ({ answer }) => ({ answer: unheard(answer, { contentType: type }) }),
  }),
  bom: defineFault({
    summary: 'a byte order mark before the honest body',
    endpoints: JSON_ENDPOINTS,
    parameters: {},
    prepare:
      () =>
      ({ answer }) => {
        const body = Buffer.concat([Buffer.from('\ufeff'), Buffer.from(answer.body)])
        return { answer: unheard(answer, { body }) }
      },
  }),
}

function page200(summary: string, body: string): FaultKind {
  return defineFault({
    summary,
    endpoints: ENDPOINT_NAMES,
    parameters: {},
    prepare: () => () => replaced(body, { contentType: HTML_TYPE }),
  })
}

function json200(summary: string, body: string): FaultKind {
  return defineFault({
    summary,
    endpoints: JSON_ENDPOINTS,
    parameters: {},
    prepare: () => () => replaced(body),
  })
}

function page(content: string): string {
  return `<!doctype html>\n<html><head><title>Sandbox</title></head><body>${content}</body></html>\n`
}
