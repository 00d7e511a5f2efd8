import { defineFault, type FaultKind, type Send, unreadable } from './fault-kind.ts'
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

/** Faults of the connection: the correct answer arrives late, in part or not at all. */
export const WIRE_FAULTS = {
  latency: defineFault({
    summary: 'the correct answer, later',
    parameters: { ms: integer({ min: 1, max: TEN_MINUTES_MS, initial: 1000 }) },
    corrupt: ({ answer, ms }) => ({ answer, delayMs: ms }),
  }),
  hang: defineFault({
    summary: 'no answer until the client closes the connection',
    corrupt: ({ answer }) => ({ answer: unreadable(answer), send: hang, statusSent: false }),
  }),
  'hang-body': sentInPart('headers and ten bytes, then nothing', hangInBody),
  drip: defineFault({
    summary: 'the correct answer, byte by byte',
    parameters: { ms: integer({ min: 1, max: 60_000, initial: 200 }) },
    corrupt: ({ answer, ms }) => ({ answer, send: dripSender(ms) }),
  }),
  reset: defineFault({
    summary: 'a TCP reset before the headers',
    corrupt: ({ answer }) => ({ answer: unreadable(answer), send: reset, statusSent: false }),
  }),
  'reset-body': sentInPart('the connection is reset after half the body', resetInBody),
  truncate: sentInPart('half a chunked body, then the end of the connection', truncate),
  'wrong-length': defineFault({
    summary: 'a Content-Length larger or smaller than the body',
    parameters: { length: oneOf('larger', 'smaller') },
    corrupt: ({ answer, length }) => ({
      answer: unreadable(answer),
      send: wrongLengthSender(length),
    }),
  }),
}

function sentInPart(summary: string, send: Send): FaultKind {
  return defineFault({ summary, corrupt: ({ answer }) => ({ answer: unreadable(answer), send }) })
}
