import { describe, expect, it } from 'vitest'
import { judge } from '../../src/health/checks.ts'
import { DOCTOR_CHECKS, type DoctorReading } from '../../src/health/doctor-checks.ts'
import { reading } from './doctor-fixture.ts'

const fault = (part: string) => ({ faults: [{ part, text: 'no answer' }] })
const REDIS = {
  ...{ version: '8.0', evictionPolicy: 'noeviction', usedBytes: 1e6, maxBytes: 0 },
  ...{ appendOnly: true, writesFail: false, replica: false },
}
const redis = (changed: Partial<typeof REDIS>): Partial<DoctorReading> => ({
  store: { clockSkewMs: 0, redis: { ...REDIS, ...changed } },
})
const ROLES = { user: 'fares', exists: true, member: true, readsPrivate: false }
const ANALYSTS = { logins: ['eva'], mayLock: true, maySignal: true, mayStore: false, unlimited: [] }
const GENERATION = {
  ...{ number: 2, beganAt: new Date(0), database: null, timeline: null },
  reason: 'identity',
  isKnown: false,
} as const
const BREAKER = { endpoint: 'verify', open: null, failures: 9, failedAtMs: reading.nowMs - 1_000 }
const breakers = (breaker: 'auth' | 'errors', changed: object = {}): Partial<DoctorReading> =>
  ({ breakers: [{ ...BREAKER, breaker, ...changed }] }) as unknown as Partial<DoctorReading>
const shell = (changed: Partial<DoctorReading['shell']>) => ({
  shell: { ...reading.shell, ...changed },
})

const CASES: readonly (readonly [string, Partial<DoctorReading>, readonly string[]])[] = [
  ['all is well', { roles: ROLES, ...redis({}), clocks: { databaseMs: 3, queueMs: -9 } }, []],
  ['a database that is down', fault('database'), ['bad database_down']],
  ['an old schema', fault('schema'), ['bad schema_wrong']],
  ['a queue that is down', fault('queue'), ['bad queue_down']],
  ['something that cannot be read', fault('roles'), ['bad not_examined']],
  [
    'a session with locks',
    { blockers: [{ pid: 7, user: 'eva', application: '', sessions: 1, seconds: 9 }] },
    ['bad session_blocks'],
  ],
  ['clocks that differ', { clocks: { databaseMs: -2_001, queueMs: 0 } }, ['bad clock_wrong']],
  ['a role that is missing', { roles: { ...ROLES, exists: false } }, ['bad analyst_role']],
  ['a role that is not ours', { roles: { ...ROLES, member: false } }, ['warn analyst_role']],
  ['analysts who may stop syncs', { analysts: ANALYSTS }, ['warn analysts_unlimited']],
  [
    'a prune that was interrupted',
    { floor: { since: new Date(0), isLeft: true } },
    ['warn prune_unfinished'],
  ],
  ['a database whose identity is hidden', { generation: GENERATION }, ['warn restore_unseen']],
  ['a replica of Redis', redis({ replica: true }), ['bad redis_replica']],
  ['a Redis with a full disk', redis({ writesFail: true }), ['bad redis_disk']],
  ['a Redis that evicts', redis({ evictionPolicy: 'allkeys-lru' }), ['bad redis_evicts']],
  ['a full Redis', redis({ usedBytes: 81, maxBytes: 100 }), ['bad redis_memory']],
  ['a Redis without a file', redis({ appendOnly: false }), ['warn redis_forgets']],
  [
    'periodic work that fails',
    { failing: [{ name: 'prune', failure: 'boom' }] },
    ['bad tick_failing'],
  ],
  [
    'jobs that wait',
    { waiting: [{ queue: 'verify', waiting: 3, waitedMs: 300_001 }] },
    ['bad jobs_waiting'],
  ],
  [
    'another schedule here',
    { differing: [{ name: 'sync-routes', says: 'It differs.' }] },
    ['warn schedule_differs'],
  ],
  ['a refused call', breakers('auth', { failures: 0.5 }), ['warn credential_refused']],
  ['failed calls', breakers('errors'), ['warn calls_failing']],
  ['failed calls of long ago', breakers('errors', { failedAtMs: reading.nowMs - 61_000 }), []],
  ['one failed call', breakers('errors', { failures: 1 }), []],
  [
    'failed lists of long ago',
    breakers('errors', { endpoint: 'lists', failures: 1, failedAtMs: 1 }),
    ['warn calls_failing'],
  ],
  ['a token in clear', shell({ sendsTokenInClear: true }), ['warn token_in_clear']],
  ['a shell without an upstream', shell({ usesSandbox: true }), ['warn shell_differs']],
  ['past departures', { pastDepartures: 3 }, ['warn departures_past']],
]

describe('what doctor alone checks', () => {
  it.each(CASES)('finds of %s', (_, changed, expected) => {
    const found = judge(DOCTOR_CHECKS, { ...reading, ...changed })
    expect(found.map(({ level, code }) => `${level} ${code}`)).toEqual(expected)
  })

  it('is provoked by a case above, each', () => {
    const found = new Set(CASES.flatMap(([, , codes]) => codes.map((code) => code.split(' ')[1])))
    expect(Object.keys(DOCTOR_CHECKS).filter((code) => !found.has(code))).toEqual([])
  })
})
