import { expect } from 'vitest'
import type { WIRE_FAULTS } from '../../../sandbox/faults/wire-faults.ts'
import { type FaultCase, jsonOf, unanswered, unfaulted } from './fault-case.ts'

const ENTRY = { 'no-flight': { available: false } }
const SHORT = { flightId: 'no-flight', returnFlightId: '' }
const truncatedLog = () => ({ status: 200, available: { 'no-flight': false } })

export const WIRE_CASES: Record<keyof typeof WIRE_FAULTS, FaultCase[]> = {
  latency: [
    {
      at: 'verify',
      parameters: { ms: 60 },
      outcome: unfaulted,
      received: (received, { result }) => expect(jsonOf(received)).toEqual(result),
    },
  ],
  hang: [
    {
      at: 'verify',
      outcome: unanswered(null),
      hangsUpAfter: 0,
      received: (received) => expect(received.bytes.length).toBe(0),
    },
  ],
  'hang-body': [
    {
      at: 'routes',
      outcome: unanswered(),
      hangsUpAfter: 10,
      received: (received) =>
        expect(received).toMatchObject({
          status: 200,
          complete: false,
          body: Buffer.from('[{"departu'),
        }),
    },
  ],
  drip: [
    {
      at: 'verify',
      parameters: { ms: 1 },
      params: SHORT,
      outcome: truncatedLog,
      received: (received) => {
        expect(jsonOf(received)).toEqual(ENTRY)
        expect(received.bytes.toString().split('\r\n1\r\n').length).toBeGreaterThan(30)
      },
    },
  ],
  reset: [
    {
      at: 'verify',
      outcome: unanswered(null),
      received: (received) => expect(received).toMatchObject({ ended: 'reset', status: undefined }),
    },
  ],
  'reset-body': [
    {
      at: 'verify',
      outcome: unanswered(),
      received: (received) => expect(received).toMatchObject({ ended: 'reset', complete: false }),
    },
  ],
  truncate: [
    {
      at: 'routes',
      outcome: unanswered(),
      received: (received, { routes }) => {
        const whole = Buffer.byteLength(JSON.stringify(routes))
        expect(received).toMatchObject({ status: 200, ended: 'closed', complete: false })
        expect(received.headers['transfer-encoding']).toBe('chunked')
        expect(received.body.length).toBe(Math.ceil(whole / 2))
      },
    },
  ],
  'wrong-length': (['larger', 'smaller'] as const).map((length) => ({
    at: 'verify',
    parameters: { length },
    outcome: unanswered(),
    received: (received, { result }) => {
      const answered = Number(received.headers['content-length'])
      expect(JSON.parse(received.body.toString())).toEqual(result)
      expect(Math.sign(answered - received.body.length)).toBe(length === 'larger' ? 1 : -1)
      expect(received.ended).toBe('closed')
    },
  })),
}
