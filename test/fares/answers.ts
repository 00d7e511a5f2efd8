import type { Answer } from '../../src/fares/answer.ts'
import type { DecisionRules } from '../../src/fares/decide.ts'
import type { MassContext } from '../../src/fares/mass.ts'
import type { HeldKind } from '../../src/platform/base/change-kinds.ts'
import type { UnknownReason } from '../../src/platform/base/kinds.ts'
import type { Money } from '../../src/platform/base/money.ts'
import type {
  FlightSummary,
  LegObservation,
  Observation,
  ObservedFlight,
  Site,
} from '../../src/upstream/observation.ts'

export const RULES: DecisionRules = {
  lossConfirmations: 2,
  gainConfirmations: 2,
  massHoldMs: 600_000,
}

/** No other fare changes. */
export const CALM: MassContext = { masses: [], releasedAt: new Map() }

/** More flights change so than a market changes, whichever they are. */
export function massesOf(kinds: readonly HeldKind[]): MassContext['masses'] {
  return kinds.map((kind) => ({ kind, airline: null, difference: null }))
}

export const START = Date.parse('2026-03-01T08:00:00.000Z')

/** An instant so many seconds after the start of a test's story. */
export function at(seconds: number): Date {
  return new Date(START + seconds * 1000)
}

export function eur(amount: string): Money {
  return { amount, currency: 'EUR' }
}

const SUMMARY: FlightSummary = {
  from: 'PMI',
  to: 'MAD',
  airline: 'T1',
  numbers: [101],
  departsAt: '2026-05-01 10:00',
  arrivesAt: '2026-05-01 11:30',
  stops: [],
  site: siteNamed('One'),
}

export function siteNamed(name: string): Site {
  return { id: `id of ${name}`, name, url: `https://${name.toLowerCase()}.example` }
}

/** A flight; its summary follows from its identity, as every real one does. */
export function flight(
  args: {
    readonly price?: Money | null
    readonly identity?: string
    readonly itinerary?: string
    readonly odd?: boolean
  } = {},
): ObservedFlight {
  const { price = eur('100.00'), identity = 'T1 PMI-MAD 2026-05-01', itinerary = '10:00' } = args
  return {
    price,
    totalUnlikeSum: false,
    priceIsOdd: args.odd ?? false,
    identity,
    itinerary,
    departsAt: SUMMARY.departsAt,
    flight: { ...SUMMARY, airline: identity.slice(0, 2) },
  }
}

export function available(args: Parameters<typeof flight>[0] = {}): LegObservation {
  return { kind: 'available', flight: flight(args) }
}

/** The same answer with another site; without one if it is null. */
export function soldBy(leg: LegObservation, site: Partial<Site> | null): LegObservation {
  if (leg.kind !== 'available') return leg
  const { site: _, ...flight } = leg.flight.flight
  const sold = site === null ? flight : { ...flight, site: { ...NO_SITE, ...site } }
  return { kind: 'available', flight: { ...leg.flight, flight: sold } }
}

const NO_SITE: Site = { id: null, name: null, url: null }

/** The answer about a return flight: its flight is another one. */
export function returning(leg: LegObservation): LegObservation {
  if (leg.kind !== 'available') return leg
  const { identity, flight } = leg.flight
  const summary = { ...flight, from: flight.to, to: flight.from }
  return {
    kind: 'available',
    flight: { ...leg.flight, identity: `${identity} back`, flight: summary },
  }
}

export const UNAVAILABLE: LegObservation = { kind: 'unavailable' }

export function unknown(reason: UnknownReason = 'timeout'): LegObservation {
  return { kind: 'unknown', reason }
}

export function observation(
  outbound: LegObservation,
  back: LegObservation | null = null,
): Observation {
  return {
    outbound,
    return: back,
    anomalies: [],
    ageSeconds: 0,
    evidence: {
      body: null,
      status: 200,
      latencyMs: 12,
      requestFingerprint: 'f'.repeat(64),
      parserVersion: 1,
    },
  }
}

/** An answer to a fare that is checked once a minute. */
export function answer(
  askedAt: Date,
  outbound: LegObservation,
  back?: LegObservation | null,
): Answer {
  return { askedAt, observation: observation(outbound, back ?? null), intervalSeconds: 60 }
}
