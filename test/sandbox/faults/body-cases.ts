import { gunzipSync } from 'node:zlib'
import { expect } from 'vitest'
import type { BODY_FAULTS, SIZE_FAULTS } from '../../../sandbox/faults/body-faults.ts'
import type { STATUS_FAULTS } from '../../../sandbox/faults/status-faults.ts'
import { START, TOKEN } from '../support.ts'
import { type FaultCase, jsonOf, unanswered } from './fault-case.ts'

type Names = keyof typeof STATUS_FAULTS | keyof typeof BODY_FAULTS | keyof typeof SIZE_FAULTS

export const BODY_CASES: Record<Names, FaultCase[]> = {
  status: [500, 503, 404, 200, 204, 304].map((code) => ({
    at: 'verify',
    parameters: { code },
    outcome: unanswered(code),
    received: (received) => {
      expect(received).toMatchObject({ status: code, complete: true })
      if (code === 204 || code === 304) expect(received.body.length).toBe(0)
      else expect(JSON.parse(received.body.toString())).toHaveProperty('error.code', 'fault')
    },
  })),
  'rate-limited': [
    limited('seconds', '7'),
    limited('date', new Date(START.getTime() + 7000).toUTCString()),
    limited('absurd', '1000000000'),
    limited('garbage', 'soon'),
    limited('missing', undefined),
    limited('past-date', new Date(START.getTime() - 7000).toUTCString()),
    limited('negative', '-7'),
    {
      ...limited('duplicate', '7'),
      received: (received) => expect(received.head.match(/^retry-after: 7$/gim)).toHaveLength(2),
    },
  ],
  redirect: [301, 302, 303, 307, 308].map((code) => ({
    at: 'verify',
    parameters: { code, to: 'http://127.0.0.1:4/elsewhere' },
    outcome: unanswered(code),
    received: (received) => {
      expect(received.status).toBe(code)
      expect(received.headers.location).toBe('http://127.0.0.1:4/api/v1/flights/fares/verify')
    },
  })),
  'token-expired': (['verify', 'booking'] as const).map((at) => ({
    at,
    outcome: unanswered(401),
    received: (received) => {
      expect(received.status).toBe(401)
      expect(JSON.parse(received.body.toString())).toHaveProperty('error.code', 'token_expired')
    },
  })),
  'echo-request': [
    {
      at: 'verify',
      outcome: unanswered(500),
      received: (received) => {
        expect(received.status).toBe(500)
        expect(received.body.toString()).toContain(`accessToken=${TOKEN}`)
        expect(received.body.toString()).toContain(Buffer.from(TOKEN).toString('base64'))
      },
    },
  ],
  html: [page(/We will be back soon/)],
  'login-page': [page(/type="password"/)],
  empty: [body('')],
  null: [body('null')],
  'empty-object': [body('{}')],
  'empty-array': [body('[]')],
  'error-in-200': [body(/^\{"error":\{/)],
  'wrong-type': [
    {
      at: 'verify',
      parameters: { type: 'text/json' },
      outcome: unanswered(),
      received: (received, { result }) => {
        expect(received.headers['content-type']).toMatch(/^text\/json/)
        expect(JSON.parse(received.body.toString())).toEqual(result)
      },
    },
  ],
  bom: [
    {
      at: 'verify',
      outcome: unanswered(),
      received: (received, { result }) => {
        expect(received.body.subarray(0, 3)).toEqual(Buffer.from([0xef, 0xbb, 0xbf]))
        expect(JSON.parse(received.body.subarray(3).toString())).toEqual(result)
      },
    },
  ],
  'gzip-bomb': [bomb('routes', '[]'), bomb('verify', '{}')],
  'deep-nesting': [
    size('routes', { levels: 500 }, (text) => expect(text).toBe(nested(500))),
    size('verify', { levels: 500 }, (text, open) =>
      expect(text).toBe(`{"${open}":${nested(499)}}`),
    ),
  ],
  'many-fields': [
    size('routes', { fields: 1000 }, (text) => {
      const [element] = JSON.parse(text) as object[]
      expect(Object.keys(element ?? {}).length).toBe(1000)
    }),
    size('verify', { fields: 1000 }, (text, open) =>
      expect(Object.keys(JSON.parse(text)[open]).length).toBe(1000),
    ),
  ],
  'huge-body': [
    size('routes', { megabytes: 3 }, (text) => {
      expect(text.length).toBe(3_000_002)
      expect(JSON.parse(text)).toEqual([])
    }),
  ],
}

function limited(retryAfter: string, header: string | undefined): FaultCase {
  return {
    at: 'routes',
    parameters: { retryAfter, seconds: 7 },
    outcome: unanswered(429),
    received: (received) => {
      expect(received.status).toBe(429)
      expect(received.headers['retry-after']).toBe(header)
    },
  }
}

function page(holds: RegExp): FaultCase {
  return {
    at: 'verify',
    outcome: unanswered(),
    received: (received) => {
      expect(received).toMatchObject({ status: 200, complete: true })
      expect(received.headers['content-type']).toMatch(/^text\/html/)
      expect(received.body.toString()).toMatch(holds)
    },
  }
}

function body(holds: string | RegExp): FaultCase {
  return {
    at: 'verify',
    outcome: unanswered(),
    received: (received) => {
      expect(received).toMatchObject({ status: 200, complete: true })
      expect(received.headers['content-type']).toMatch(/^application\/json/)
      if (typeof holds === 'string') expect(received.body.toString()).toBe(holds)
      else expect(received.body.toString()).toMatch(holds)
    },
  }
}

function bomb(at: 'routes' | 'verify', brackets: string): FaultCase {
  return {
    at,
    parameters: { megabytes: 2 },
    outcome: unanswered(),
    received: (received) => {
      const inflated = gunzipSync(received.body).toString()
      expect(received.headers['content-encoding']).toBe('gzip')
      expect(received.body.length).toBeLessThan(3000)
      expect(inflated.length).toBe(2_000_000)
      expect(inflated.replaceAll(' ', '')).toBe(brackets)
    },
  }
}

function size(
  at: 'routes' | 'verify',
  parameters: Record<string, number>,
  expectation: (text: string, open: string) => void,
): FaultCase {
  return {
    at,
    parameters,
    outcome: unanswered(),
    received: (received, { open }) => {
      jsonOf(received)
      expectation(received.body.toString(), open)
    },
  }
}

function nested(levels: number): string {
  return '['.repeat(levels) + ']'.repeat(levels)
}
