import { afterAll, beforeAll, expect, it } from 'vitest'
import type { OperationName } from '../../../sandbox/answer.ts'
import { FAULT_NAMES, FAULTS, type FaultName } from '../../../sandbox/faults/fault-rule.ts'
import { until } from '../../support/until.ts'
import type { Received } from '../raw-client.ts'
import { type FaultFixture, prepareFixture } from './fault-fixture.ts'

let fixture: FaultFixture
beforeAll(async () => {
  fixture = await prepareFixture()
})
afterAll(() => fixture.close())

/** Parameters with which a fault takes little time. What the fault means is tested in test/faults. */
const SMALL: Partial<Record<FaultName, Readonly<Record<string, number>>>> = {
  latency: { ms: 60 },
  drip: { ms: 1 },
  'gzip-bomb': { megabytes: 2 },
  'deep-nesting': { levels: 500 },
  'many-fields': { fields: 1_000 },
  'huge-body': { megabytes: 3 },
}
/** Faults that change only when the answer arrives, or the answers after the first. */
const LATE = new Set<FaultName>(['latency', 'drip', 'frozen-answers'])
/** Faults that keep the connection open, with the bytes of the body that they send. */
const HANGING: Partial<Record<FaultName, number>> = { hang: 0, 'hang-body': 10 }
/** A question whose answer is short enough to be sent byte by byte. */
const SHORT = { flightId: 'no-flight', returnFlightId: '' }

const CASES = FAULT_NAMES.flatMap((name) =>
  FAULTS[name].endpoints
    .filter((at) => at !== 'booking' && (name !== 'drip' || at === 'verify'))
    .map((at) => ({ name, at: at as Exclude<OperationName, 'booking'> })),
)

/** What has arrived when the connection ends, or when nothing more follows. */
async function ask(name: FaultName | undefined, at: Exclude<OperationName, 'booking'>) {
  const { next: seq } = await fixture.logAfter(0)
  const asking = fixture.request(at, name === 'drip' ? SHORT : {})
  const bytes = name === undefined ? undefined : HANGING[name]
  if (bytes !== undefined) {
    await until('the beginning', () => asking.received().body.length >= bytes)
    await until('the log', async () => (await fixture.logAfter(seq)).entries.length > 0)
    const received = asking.received()
    asking.hangUp()
    return { received, logged: (await fixture.logAfter(seq)).entries[0] }
  }
  const received = await asking.done
  return { received, logged: (await fixture.logAfter(seq)).entries[0] }
}

const TRUTHS = new Map<string, ReturnType<typeof ask>>()

/** What is sent without a fault. */
function truth(at: Exclude<OperationName, 'booking'>) {
  const known = TRUTHS.get(at)
  if (known !== undefined) return known
  fixture.sandbox.setFaults([])
  const found = ask(undefined, at)
  TRUTHS.set(at, found)
  return found
}

/** What a plain reader finds about the requested flights in a whole 200 of JSON. */
function availableIn({ status, complete, headers, body }: Received): Record<string, boolean> {
  if (status !== 200 || !complete || !headers['content-type']?.startsWith('application/json')) {
    return {}
  }
  let result: Record<string, { available?: unknown; flight?: unknown } | undefined>
  try {
    result = JSON.parse(body.toString()) ?? {}
  } catch {
    return {}
  }
  const coherent = [fixture.open, fixture.sold, SHORT.flightId].flatMap((id) => {
    const { available, flight } = result[id] ?? {}
    const isWhole = typeof available === 'boolean' && available === (flight !== undefined)
    return isWhole ? [[id, available] as const] : []
  })
  return Object.fromEntries(coherent)
}

it.each(CASES)(
  'the fault $name changes the answer of $at, and the log records what was sent',
  async ({ name, at }) => {
    const truthful = await truth(at)
    fixture.sandbox.setFaults([{ name, ...SMALL[name] }])

    const { received, logged } = await ask(name, at)

    expect(logged).toMatchObject({ endpoint: at, fault: name })
    expect(logged?.outcome.status).toBe(received.status ?? null)
    if (at === 'verify') expect(logged?.outcome.available ?? {}).toEqual(availableIn(received))
    const shown = ({ status, body, complete, ended, headers }: Received) => {
      return {
        status,
        body: body.toString('latin1'),
        complete,
        ended,
        type: headers['content-type'],
      }
    }
    if (!LATE.has(name)) expect(shown(received)).not.toEqual(shown(truthful.received))
    else expect(received).toMatchObject({ status: 200, complete: true, ended: 'closed' })
  },
)
