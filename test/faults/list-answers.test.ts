import { describe, expect, it } from 'vitest'
import { AppError } from '../../src/platform/base/errors.ts'
import { clientOf } from '../upstream/client-fixture.ts'
import {
  deadlineFor,
  everythingOf,
  expectNoCredential,
  startHostileUpstream,
} from './hostile-upstream.ts'
import { LIST_CASES } from './list-answers.ts'
import { MAX_BODY_BYTES } from './transport-answers.ts'

const RETRYABLE = new Set(['timeout', 'network', 'http_5xx', 'rate_limited'])

/** What the error of some answers says. It becomes the reason of the run. */
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
  'a Content-Length short of the body': 'the list ends early, in element 0, byte 20',
  'gzip and more': 'the compressed body is damaged or ends early',
  'HTML as HTML': 'the content type is text/html',
  'JSON without a content type': 'the content type is missing',
  'a body in brotli, which was not accepted': 'a content encoding that we did not request',
  'an error in an object':
    'begins with an object, not with a list (status 200), with the body: {"error"',
  'HTML as JSON': 'begins with markup',
  'an empty body': 'the body is empty',
  null: 'begins with null',
  'a byte order mark': 'begins with a byte order mark',
  'two bodies': 'the list is followed by other content at byte',
  'a body over the cap': 'the body is over 100000 bytes',
  'forty levels': 'element 0 is nested deeper than 32 levels',
  'a route of 70 KB': 'element 1 is over 65536 bytes',
}

describe('a list of an upstream that was written from the interface alone', () => {
  it('has at least 120 kinds, each under its own name', () => {
    const names = new Set(LIST_CASES.map(({ name }) => name))
    expect(names.size).toBe(LIST_CASES.length)
    expect(LIST_CASES.length).toBeGreaterThanOrEqual(120)
    expect(Object.keys(SAYS).filter((name) => !names.has(name))).toEqual([])
  })

  it.each(LIST_CASES)('becomes $becomes when it is $name', async ({ name, answer, becomes }) => {
    await using upstream = await startHostileUpstream(answer)
    const limits = { listDeadlineMs: deadlineFor(answer, becomes), maxBodyBytes: MAX_BODY_BYTES }
    await using fixture = clientOf(upstream.url, { limits })

    const read: unknown = await fixture.pull().catch((err: unknown) => err)

    expect(upstream.requests()).toBe(1)
    if (typeof becomes === 'number') {
      expect(read).toHaveLength(becomes)
      return
    }
    expect(read).toBeInstanceOf(AppError)
    const err = read as AppError
    expect(err).toMatchObject({
      code: `upstream.${becomes}`,
      retryable: RETRYABLE.has(becomes),
      message: expect.stringContaining(SAYS[name] ?? ': '),
    })
    expect(err.cause).toBeUndefined()
    expect(err.message).not.toContain('http://')
    expectNoCredential([everythingOf(err), fixture.logLines, fixture.calls])
  })
})
