/**
 * A second upstream, written from the interface alone. It shares no code with the sandbox, so that one misreading of the
 * interface cannot hide in both.
 */

/**
 * One response. `wire` damages what HTTP would send, and `raw` is sent instead of it. In its texts `{request}` is replaced
 * by a quotation of the request, with the credential. Without a body it is only that quotation.
 */
export interface Answer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  readonly raw?: string
  readonly wire?:
    | 'closed'
    | 'reset'
    | 'reset-in-body'
    | 'truncated'
    | 'silent'
    | 'silent-in-body'
    | 'byte-by-byte'
}

export const JSON_TYPE = { 'content-type': 'application/json' }

/** The ids of the two flights that every test asks about. */
export const OUT = '7001'
export const BACK = '7002'

export const ok = (body: unknown, headers: Answer['headers'] = {}): Answer => ({
  headers: { ...JSON_TYPE, ...headers },
  body: typeof body === 'string' ? body : JSON.stringify(body),
})

const MALLORCA = { id: 1, iata: 'PMI', city: 'Palma', country: 'Spain' }
const MADRID = { id: 2, iata: 'MAD', city: 'Madrid', country: 'Spain' }
const BARCELONA = { id: 3, iata: 'BCN', city: 'Barcelona', country: 'Spain' }
const AIRLINE = { id: 9, name: 'Made-up Air', twoLetterCode: 'MU' }
const SITE = {
  id: 4,
  name: 'site',
  url: 'https://site.example/',
  logo: 'https://site.example/l.png',
}

export interface FlightPlan {
  readonly departure: string
  readonly arrival: string
  readonly seconds: number
}

const PLAN: FlightPlan = {
  departure: '2027-03-01 10:00',
  arrival: '2027-03-01 11:20',
  seconds: 4800,
}
const RETURN_PLAN: FlightPlan = {
  departure: '2027-03-08 18:00',
  arrival: '2027-03-08 19:20',
  seconds: 4800,
}

export type Json = Record<string, unknown>

export const price = (total: unknown, more: Json = {}): Json => ({
  currency: 'EUR',
  total,
  residents: { adult: null, child: null, infant: null },
  nonResidents: { adult: 100, child: null, infant: null },
  ...more,
})

/** The prices of the groups, with another price of an adult. */
export const adultAt = (adult: unknown): Json => ({
  nonResidents: { adult, child: null, infant: null },
})

const timesOf = ({ departure, arrival, seconds }: FlightPlan): Json => ({
  dates: { departure, arrival },
  duration: { human: `${Math.floor(seconds / 3600)}h ${(seconds % 3600) / 60}m`, seconds },
})

/** A flight as a search would show it, for one non-resident adult. */
export function flight(more: Json = {}, plan: FlightPlan = PLAN): Json {
  return {
    from: MALLORCA,
    to: MADRID,
    legs: [segment({}, plan)],
    ...timesOf(plan),
    airline: AIRLINE,
    site: SITE,
    id: Number(OUT),
    price: price('100.00'),
    ...more,
  }
}

export function segment(more: Json = {}, plan: FlightPlan = PLAN): Json {
  return { from: MALLORCA, to: MADRID, number: 3900, ...timesOf(plan), airline: AIRLINE, ...more }
}

export const returnFlight = (more: Json = {}): Json =>
  flight(
    {
      from: MADRID,
      to: MALLORCA,
      id: Number(BACK),
      legs: [segment({ from: MADRID, to: MALLORCA }, RETURN_PLAN)],
      ...more,
    },
    RETURN_PLAN,
  )

export const stopover = (): Json =>
  flight({
    legs: [
      segment(
        { to: BARCELONA, number: 1 },
        { departure: '2027-03-01 10:00', arrival: '2027-03-01 10:40', seconds: 2400 },
      ),
      segment(
        { from: BARCELONA, number: 2 },
        { departure: '2027-03-01 12:00', arrival: '2027-03-01 13:20', seconds: 4800 },
      ),
    ],
    ...timesOf({ departure: '2027-03-01 10:00', arrival: '2027-03-01 13:20', seconds: 12_000 }),
  })

/** The flight between these airports, with one segment at these local times. */
export function between(from: string, to: string, plan: FlightPlan): Json {
  const places = {
    from: { ...MALLORCA, id: 11, iata: from, city: from },
    to: { ...MADRID, id: 12, iata: to, city: to },
  }
  return flight({ ...places, legs: [segment(places, plan)] }, plan)
}

/** The answer for the outbound flight alone. */
export const entry = (value: unknown): Answer => ok({ [OUT]: value })
export const available = (value: Json): Answer => entry({ available: true, flight: value })
