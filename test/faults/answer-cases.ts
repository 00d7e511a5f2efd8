import type { BODY_FAULTS } from '../../sandbox/faults/body-faults.ts'
import type { STATUS_FAULTS } from '../../sandbox/faults/status-faults.ts'
import type { WIRE_FAULTS } from '../../sandbox/faults/wire-faults.ts'
import { type CasesOf, CORRECT, everywhere, type FaultCase, refused } from './fault-case.ts'
import { SHORT } from './fault-fixture.ts'

const CONTRACT = 'upstream.contract_violation'

const RETRY_AFTER = [
  'seconds',
  'date',
  'absurd',
  'missing',
  'garbage',
  'past-date',
  'negative',
  'duplicate',
]

const status = (code: number) => ({ parameters: { code } })

export const STATUS_CASES: CasesOf<keyof typeof STATUS_FAULTS> = {
  status: [
    ...[500, 502, 503, 504].map((code) => ({
      danger: 'server errors' as const,
      ...status(code),
      ...refused('upstream.http_5xx', 'http_5xx'),
    })),
    ...[400, 404, 410].map((code) => ({
      danger: 'dead ids' as const,
      ...status(code),
      ...refused('upstream.http_4xx', 'http_4xx'),
    })),
    ...[401, 403].map((code) => ({
      danger: 'credential refused' as const,
      ...status(code),
      ...refused('upstream.auth', 'auth'),
    })),
    ...[204, 206].map((code) => ({
      danger: 'contract violations' as const,
      ...status(code),
      ...refused(CONTRACT, 'contract_violation'),
    })),
  ],
  'rate-limited': RETRY_AFTER.map((retryAfter) => ({
    danger: 'asked to wait' as const,
    parameters: { retryAfter },
    ...refused('upstream.rate_limited', 'rate_limited'),
  })),
  redirect: [301, 302, 303, 307, 308].map((code) => ({
    danger: 'redirects' as const,
    ...status(code),
    ...refused('upstream.redirect', 'contract_violation'),
  })),
  'token-expired': [{ danger: 'credential refused', verify: { client: everywhere('auth') } }],
  'echo-request': [
    { danger: 'server errors', ...refused('upstream.http_5xx', 'http_5xx') },
    {
      danger: 'contract violations',
      ...status(200),
      ...refused(CONTRACT, 'malformed'),
    },
  ],
}

const noAnswer: FaultCase = {
  danger: 'slow or no answers',
  limits: SHORT,
  ...refused('upstream.timeout', 'timeout', { run: 'failed' }),
}
const truncated: FaultCase = { danger: 'truncated answers', ...refused(CONTRACT, 'malformed') }
const broken: FaultCase = {
  danger: 'truncated answers',
  ...refused('upstream.network', 'network', { run: 'failed' }),
}

export const WIRE_CASES: CasesOf<keyof typeof WIRE_FAULTS> = {
  latency: [
    { ...noAnswer, parameters: { ms: 60_000 } },
    {
      danger: 'slow or no answers',
      parameters: { ms: 50 },
      list: { client: 'ok', run: 'unchanged' },
      verify: { client: CORRECT },
    },
  ],
  hang: [noAnswer],
  'hang-body': [noAnswer],
  drip: [noAnswer],
  reset: [broken],
  'reset-body': [broken],
  truncate: [truncated],
  'wrong-length': ['larger', 'smaller'].map((length) => ({ ...truncated, parameters: { length } })),
}

const violations = 'contract violations'
const malformed: FaultCase = { danger: violations, ...refused(CONTRACT, 'malformed') }
const violation = refused(CONTRACT, 'contract_violation')
const idMissing = refused(CONTRACT, 'id_missing')

export const BODY_CASES: CasesOf<keyof typeof BODY_FAULTS> = {
  html: [
    malformed,
    { danger: violations, list: { of: 'with-availability', client: CONTRACT, run: 'rejected' } },
  ],
  'login-page': [{ danger: 'credential refused', ...refused('upstream.auth', 'auth') }],
  empty: [malformed],
  null: [{ danger: violations, ...violation }],
  'empty-object': [{ danger: violations, ...idMissing }],
  'empty-array': [
    {
      danger: violations,
      list: { client: 'ok', run: 'held', reason: 'empty' },
      verify: { ...violation.verify, anomalies: ['list_for_object'] },
    },
    {
      danger: 'implausible lists',
      list: { of: 'with-availability', client: 'ok', run: 'held', reason: 'empty' },
    },
  ],
  'error-in-200': [
    {
      danger: violations,
      list: idMissing.list,
      verify: { ...idMissing.verify, anomalies: ['unknown_fields'] },
    },
    { danger: violations, list: { of: 'with-availability', client: CONTRACT, run: 'rejected' } },
  ],
  'wrong-type': ['text/plain', 'text/json', 'text/html'].map((type) => ({
    ...malformed,
    parameters: { type },
  })),
  bom: [malformed],
}
