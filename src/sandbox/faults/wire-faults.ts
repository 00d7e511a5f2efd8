import { ENDPOINT_NAMES } from '../answer.ts'
import { defineFault, type FaultKind, type Send, unheard } from './fault-kind.ts'
import { integer, oneOf } from './fault-parameters.ts'
import {
  dripSender,
  hang,
  hangInBody,
  reset,
  resetInBody,
  truncate,
  wrongLengthSender,
} from './wire-sends.ts'

const TEN_MINUTES_MS = 600_000

/** Faults of the connection: what is said is honest, but it comes late, in part or not at all. */
export const WIRE_FAULTS = {
  latency: defineFault({
    summary: 'the honest answer, later',
    endpoints: ENDPOINT_NAMES,
    parameters: { ms: integer({ min: 1, max: TEN_MINUTES_MS, initial: 1000 }) },
    prepare:
      ({ ms }) =>
      ({ answer }) => ({ answer, delayMs: ms }),
  }),
  hang: defineFault({
    summary: 'no answer, until the client goes',
    endpoints: ENDPOINT_NAMES,
    parameters: {},
    prepare:
      () =>
      ({ answer }) => ({ answer: unheard(answer), send: hang, statusSent: false }),
  }),
  'hang-body': halfSent('headers and ten bytes, then nothing', hangInBody),
  drip: defineFault({
    summary: 'the honest answer, byte by byte',
    endpoints: ENDPOINT_NAMES,
    parameters: { ms: integer({ min: 1, max: 60_000, initial: 200 }) },
    prepare:
      ({ ms }) =>
      ({ answer }) => ({ answer, send: dripSender(ms) }),
  }),
  reset: defineFault({
    summary: 'the connection is reset before the headers',
    endpoints: ENDPOINT_NAMES,
    parameters: {},
    prepare:
      () =>
      ({ answer }) => ({ answer: unheard(answer), send: reset, statusSent: false }),
  }),
  'reset-body': halfSent('the connection is reset after half the body', resetInBody),
  truncate: halfSent('half a chunked body, then the end of the connection', truncate),
  'wrong-length': defineFault({
    summary: 'a Content-Length larger or smaller than the body',
    endpoints: ENDPOINT_NAMES,
    parameters: { length: oneOf('larger', 'smaller') },
    prepare:
      ({ length }) =>
      ({ answer }) => ({ answer: unheard(answer), send: wrongLengthSender(length) }),
  }),
}

function halfSent(summary: string, send: Send): FaultKind {
  return defineFault({
    summary,
    endpoints: ENDPOINT_NAMES,
    parameters: {},
    prepare:
      () =>
      ({ answer }) => ({ answer: unheard(answer), send }),
  })
}
