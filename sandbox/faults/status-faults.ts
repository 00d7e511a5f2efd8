import { percentDecoded } from '../../src/platform/base/text.ts'
import { errorAnswer } from '../answer.ts'
import { defineFault, type FaultContext, type FaultyAnswer, replaced } from './fault-kind.ts'
import { httpOrigin, integer, oneOf } from './fault-parameters.ts'

const SECOND_MS = 1000
/** 31 years. */
const ABSURD_SECONDS = 1_000_000_000
/** The discard port, on which nothing listens. */
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
  duplicate: (seconds) => [String(seconds), String(seconds)],
} satisfies Record<string, Form>

const SECONDS = integer({ min: 0, max: 86_400, initial: 30 })
const CODE = integer({ min: 200, max: 599, initial: 500 })
const OTHER_FORMS = ['absurd', 'garbage', 'past-date', 'negative', 'duplicate'] as const

/** Faults that answer with another status than the correct one. */
export const STATUS_FAULTS = {
  status: defineFault({
    summary: 'another status, with an error in JSON',
    parameters: {
      code: CODE,
      retryAfter: oneOf('missing', 'seconds', 'date', ...OTHER_FORMS),
      seconds: SECONDS,
    },
    corrupt: ({ code, ...wait }) =>
      errorWithWait(wait, [code, 'fault', `status ${code}, as the fault rule says`]),
  }),
  'rate-limited': defineFault({
    summary: '429, with a Retry-After (absurd: 31 years)',
    parameters: {
      retryAfter: oneOf('seconds', 'date', 'missing', ...OTHER_FORMS),
      seconds: SECONDS,
    },
    corrupt: (wait) => errorWithWait(wait, [429, 'rate_limited', 'too many requests']),
  }),
  redirect: defineFault({
    summary: 'a redirect to another origin, without the query',
    parameters: { code: oneOf(302, 301, 303, 307, 308), to: httpOrigin(NOWHERE) },
    corrupt: ({ url, code, to }) => {
      const location = new URL(url.split('?', 1)[0] ?? '/', to).href
      return replaced('', { status: code, contentType: 'text/plain', headers: { location } })
    },
  }),
  'token-expired': defineFault({
    summary: '401, as for an expired token',
    endpoints: ['verify', 'booking'],
    corrupt: () => ({ answer: errorAnswer(401, 'token_expired', 'accessToken has expired') }),
  }),
  'echo-request': defineFault({
    summary: 'an error that quotes the request, its token raw and in base64',
    parameters: { code: CODE },
    corrupt: ({ url, code }) =>
      replaced(quoted(url), { status: code, contentType: 'text/plain; charset=utf-8' }),
  }),
}

interface Wait extends Pick<FaultContext, 'now'> {
  readonly retryAfter: keyof typeof RETRY_AFTER
  readonly seconds: number
}

function errorWithWait(
  { retryAfter, seconds, now }: Wait,
  error: Parameters<typeof errorAnswer>,
): FaultyAnswer {
  const form: Form = RETRY_AFTER[retryAfter]
  const value = form(seconds, now)
  const headers = value === undefined ? {} : { 'retry-after': value }
  return { answer: { ...errorAnswer(...error), headers } }
}

function dateAfter(now: Date, seconds: number): string {
  return new Date(now.getTime() + seconds * SECOND_MS).toUTCString()
}

/** The body of a careless upstream, which quotes the request with its token. */
function quoted(url: string): string {
  const token = new URLSearchParams(url.split('?')[1] ?? '').get('accessToken') ?? ''
  const base64 = Buffer.from(token).toString('base64')
  return `cannot answer ${url}\nthat is ${percentDecoded(url)}\nwith the credential ${base64}\n`
}
