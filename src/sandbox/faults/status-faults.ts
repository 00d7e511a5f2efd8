import { percentDecoded } from '../../base/text.ts'
import { ENDPOINT_NAMES, refusal } from '../answer.ts'
import { defineFault, replaced, type Scene } from './fault-kind.ts'
import { httpOrigin, integer, oneOf, oneOfNumbers } from './fault-parameters.ts'

const SECOND_MS = 1000
/** Long enough to be believed, were it not absurd: 31 years. */
const ABSURD_SECONDS = 1_000_000_000
/** The discard port: nobody listens there. */
const NOWHERE = 'http://127.0.0.1:9'

type Form = (seconds: number, now: Date) => string | string[] | undefined

const RETRY_AFTER = {
  seconds: (seconds) => String(seconds),
  date: (seconds, now) => dateAfter(now, seconds),
  absurd: () => String(ABSURD_SECONDS),
  garbage: () => 'soon',
  missing: () => undefined,
  'past-date': (seconds, now) => dateAfter(now, -seconds),
  negative: (seconds) => `-${seconds}`,
  doubled: (seconds) => [String(seconds), String(seconds)],
} satisfies Record<string, Form>

type FormName = keyof typeof RETRY_AFTER

const SECONDS = integer({ min: 0, max: 86_400, initial: 30 })
const OTHER_FORMS = ['absurd', 'garbage', 'past-date', 'negative', 'doubled'] as const

/** Faults that answer with another status than the honest one. */
export const STATUS_FAULTS = {
  status: defineFault({
    summary: 'another status, with an error in JSON',
    endpoints: ENDPOINT_NAMES,
    parameters: {
      code: integer({ min: 200, max: 599, initial: 500 }),
      retryAfter: oneOf('missing', 'seconds', 'date', ...OTHER_FORMS),
      seconds: SECONDS,
    },
    prepare:
      ({ code, ...wait }) =>
      ({ now }) => {
        const answer = refusal(code, 'fault', `status ${code}, as the fault rule says`)
        return { answer: { ...answer, headers: retryAfterHeaders(wait, now) } }
      },
  }),
  'rate-limited': defineFault({
    summary: '429, with a Retry-After of each kind',
    endpoints: ENDPOINT_NAMES,
    parameters: {
      retryAfter: oneOf('seconds', 'date', 'missing', ...OTHER_FORMS),
      seconds: SECONDS,
    },
    prepare:
      (wait) =>
      ({ now }) => {
        const answer = refusal(429, 'rate_limited', 'too many requests')
        return { answer: { ...answer, headers: retryAfterHeaders(wait, now) } }
      },
  }),
  redirect: defineFault({
    summary: 'a redirect to the same path at another origin, without the query',
    endpoints: ENDPOINT_NAMES,
    parameters: { code: oneOfNumbers(302, 301, 303, 307, 308), to: httpOrigin(NOWHERE) },
    prepare:
      ({ code, to }) =>
      ({ url }) => {
        const path = url.split('?', 1)[0] ?? '/'
        const location = new URL(path, to).href
        return replaced('', { status: code, contentType: 'text/plain', headers: { location } })
      },
  }),
  'token-expired': defineFault({
    summary: '401, as if the token had run out',
    endpoints: ['verify', 'booking'],
    parameters: {},
    prepare: () => () => ({ answer: refusal(401, 'token_expired', 'accessToken has expired') }),
  }),
  'echo-request': defineFault({
    summary: 'an error that quotes the request, its token raw and in base64',
    endpoints: ENDPOINT_NAMES,
    parameters: { code: integer({ min: 200, max: 599, initial: 500 }) },
    prepare:
      ({ code }) =>
      (scene) =>
        replaced(quoted(scene), { status: code, contentType: 'text/plain; charset=utf-8' }),
  }),
}

function retryAfterHeaders(
  { retryAfter, seconds }: { readonly retryAfter: FormName; readonly seconds: number },
  now: Date,
): Record<string, string | string[]> {
  const form: Form = RETRY_AFTER[retryAfter]
  const value = form(seconds, now)
  return value === undefined ? {} : { 'retry-after': value }
}

function dateAfter(now: Date, seconds: number): string {
  return new Date(now.getTime() + seconds * SECOND_MS).toUTCString()
}

/** What a careless upstream tells of the request that it cannot answer. */
function quoted({ url }: Scene): string {
  const token = new URLSearchParams(url.split('?')[1] ?? '').get('accessToken') ?? ''
  const base64 = Buffer.from(token).toString('base64')
  return `cannot answer ${url}\nthat is ${percentDecoded(url)}\nwith the credential ${base64}\n`
}
