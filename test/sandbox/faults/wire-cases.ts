import { expect } from 'vitest'
import type { WIRE_FAULTS } from '../../../src/sandbox/faults/wire-faults.ts'
import { type FaultCase, honestly, jsonOf, unsaid } from './fault-case.ts'

const ENTRY = { 'no-flight': { available: false } }
const SHORT = { flightId: 'no-flight', returnFlightId: '' }
const shortSaid = () => ({ status: 200, available: { 'no-flight': false } })

export const WIRE_CASES: Record<keyof typeof WIRE_FAULTS, FaultCase[]> = {
  latency: [
    {
      at: 'verify',
      parameters: { ms: 60 },
      outcome: honestly,
      heard: (heard, { result }) => {
        expect(jsonOf(heard)).toEqual(result)
        expect(heard.ms).toBeGreaterThan(50)
      },
    },
  ],
  hang: [
    {
      at: 'verify',
      outcome: unsaid(null),
      hears: 0,
      heard: (heard) => expect(heard.bytes.length).toBe(0),
    },
  ],
  'hang-body': [
    {
      at: 'routes',
      outcome: unsaid(),
      hears: 10,
      heard: (heard) =>
        expect(heard).toMatchObject({
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
      outcome: shortSaid,
      heard: (heard) => {
        expect(jsonOf(heard)).toEqual(ENTRY)
        expect(heard.bytes.toString().split('\r\n1\r\n').length).toBeGreaterThan(30)
      },
    },
  ],
  reset: [
    {
      at: 'verify',
      outcome: unsaid(null),
      heard: (heard) => expect(heard).toMatchObject({ ended: 'reset', status: undefined }),
    },
  ],
  'reset-body': [
    {
      at: 'verify',
      outcome: unsaid(),
      heard: (heard) => expect(heard).toMatchObject({ ended: 'reset', complete: false }),
    },
  ],
  truncate: [
    {
      at: 'routes',
      outcome: unsaid(),
      heard: (heard, { routes }) => {
        const whole = Buffer.byteLength(JSON.stringify(routes))
        expect(heard).toMatchObject({ status: 200, ended: 'closed', complete: false })
        expect(heard.headers['transfer-encoding']).toBe('chunked')
        expect(heard.body.length).toBe(Math.ceil(whole / 2))
      },
    },
  ],
  'wrong-length': (['larger', 'smaller'] as const).map((length) => ({
    at: 'verify',
    parameters: { length },
    outcome: unsaid(),
    heard: (heard, { result }) => {
      const said = Number(heard.headers['content-length'])
      expect(JSON.parse(heard.body.toString())).toEqual(result)
      expect(Math.sign(said - heard.body.length)).toBe(length === 'larger' ? 1 : -1)
      expect(heard.ended).toBe('closed')
    },
  })),
}
