import { describe, expect, it } from 'vitest'
import { AppError } from '../../src/platform/base/errors.ts'
import { clientOf } from '../upstream/client-fixture.ts'
import { ROUTES } from '../upstream/routes-fixture.ts'
import { question } from '../upstream/verify-fixtures.ts'
import {
  deadlineFor,
  everythingOf,
  expectNoCredential,
  startHostileUpstream,
} from './hostile-upstream.ts'
import { MAX_BODY_BYTES, transportAnswers } from './transport-answers.ts'
import { readingOf } from './verify-answers.ts'

const { signal } = new AbortController()
const GOOD = {
  list: JSON.stringify(ROUTES),
  verify: JSON.stringify({ 1234: { available: false } }),
}

/** What a list and an answer to a question become. */
const BECOMES = {
  read: ['read', 'unavailable'],
  unread: ['contract_violation', 'malformed'],
  tooLarge: ['too_large', 'malformed'],
  http_5xx: ['http_5xx', 'http_5xx'],
  http_4xx: ['http_4xx', 'http_4xx'],
  auth: ['auth', 'auth'],
  rate_limited: ['rate_limited', 'rate_limited'],
  redirects: ['redirect', 'contract_violation'],
  otherStatus: ['contract_violation', 'contract_violation'],
  network: ['network', 'network'],
  timeout: ['timeout', 'timeout'],
} as const

const RETRYABLE = new Set<string>(['timeout', 'network', 'http_5xx', 'rate_limited'])

/** What the error of some lists says. It becomes the reason of the run. */
const SAYS: Readonly<Record<string, string>> = {
  'a 500': 'routes: answered 500, with the body: asked',
  'a 404': 'answered 404',
  'a 401': 'refused our credential with 401',
  'a login form': 'sent a login page',
  'a 429': 'asked us to wait',
  'a 308 to another host': 'answered 308, a redirect',
  'a 206 with a good body': 'the status is not 200 (status 206)',
  'a reset in the body': 'ECONNRESET',
  'an end before the headers': 'UND_ERR_SOCKET',
  silence: 'still waiting for the headers',
  'silence in the body': 'still waiting for the body',
  'bytes that are not HTTP': 'the answer is not HTTP/1.1',
  'endless headers': 'the headers are too long',
  'an end in the body': 'the body ends early',
  'gzip and more': 'the compressed body is damaged or ends early',
  'HTML as HTML': 'the content type is text/html',
  'JSON without a content type': 'the content type is missing',
  'a body in brotli, which was not accepted': 'a content encoding that we did not request',
  'HTML as JSON': 'begins with markup, not with a list (status 200), with the body: <html>',
  'a body over the cap': 'the body is over 100000 bytes',
}

const KINDS = Object.keys(BECOMES) as (keyof typeof BECOMES)[]
const CASES = (['list', 'verify'] as const).flatMap((endpoint, at) => {
  const answers = transportAnswers(GOOD[endpoint])
  return KINDS.flatMap((kind) =>
    Object.entries(answers[kind]).map(([name, answer]) => {
      return { endpoint, name, answer, becomes: BECOMES[kind][at] ?? '' }
    }),
  )
})

// Fault: Redirects: never followed, and their target never sees the credential.
// Fault: Slow or no answers: one deadline from the call to the last byte.
describe('an upstream that was written from the interface alone', () => {
  it('has at least 70 kinds of connections and headers', () => {
    const names = new Set(CASES.map(({ name }) => name))
    expect(names.size).toBe(CASES.length / 2)
    expect(names.size).toBeGreaterThanOrEqual(70)
    expect(Object.keys(SAYS).filter((name) => !names.has(name))).toEqual([])
  })

  // Fault: The upstream answers a list or a verify call in any of many broken ways of HTTP.
  it.each(CASES)('$endpoint: is $becomes when it sends $name', async (given) => {
    const { endpoint, name, answer, becomes } = given
    await using upstream = await startHostileUpstream(answer)
    const deadline = deadlineFor(answer, becomes)
    const limits = {
      listDeadlineMs: deadline,
      verifyDeadlineMs: deadline,
      maxBodyBytes: MAX_BODY_BYTES,
      maxVerifyBytes: MAX_BODY_BYTES,
    }
    await using fixture = clientOf(upstream.url, { limits })

    const read =
      endpoint === 'verify'
        ? await fixture.client.verifyFares(question(), { signal })
        : await fixture.pull().catch((err: unknown) => err)

    expect(upstream.requests()).toBe(1)
    expect(fixture.calls).toHaveLength(1)
    if (Array.isArray(read)) expect(becomes).toBe('read')
    else if (read instanceof AppError) {
      expect(read).toMatchObject({
        code: `upstream.${becomes}`,
        retryable: RETRYABLE.has(becomes),
        message: expect.stringContaining(SAYS[name] ?? ': '),
      })
      expect(read.cause).toBeUndefined()
      expect(read.message).not.toContain('http://')
    } else {
      const { outbound, detail } = read as Awaited<ReturnType<typeof fixture.client.verifyFares>>
      expect(readingOf(outbound)).toBe(becomes)
      if (outbound.kind === 'unknown') expect(detail).toMatch(/^(?!.*http:\/\/)./)
    }
    expectNoCredential([everythingOf(read), fixture.logLines, fixture.calls])
  })
})
