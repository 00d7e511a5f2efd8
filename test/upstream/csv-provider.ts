import { type LegObservation, unknownAnswer } from '../../src/upstream/observation.ts'
import type { Provider } from '../../src/upstream/provider.ts'
import { questionKey } from '../../src/upstream/question.ts'
import { readStrictJson } from '../../src/upstream/strict-json.ts'
import { isJsonAnswer } from '../../src/upstream/transport/call-errors.ts'
import { UpstreamContractError } from '../../src/upstream/upstream-errors.ts'

const PLACE = ['id', 'iata', 'city', 'country']

/** A provider of another shape: its lists are lines of CSV, its answers are offers with seats and a price in cents. */
export const CSV_PROVIDER: Provider = {
  name: 'csv',
  parserVersion: 1,
  placeToken: (token) => ({ headers: { authorization: `Bearer ${token}` } }),
  listRequest: (list) => ({
    path: `/export/${list}.csv`,
    headers: { accept: 'text/csv' },
    wants: ({ status, headers }) => status === 200 && headers['content-type'] === 'text/csv',
  }),
  convertList(chunks, endpoint) {
    const lines = Buffer.concat(chunks).toString('utf8').trimEnd().split('\n')
    const routes = lines.map((line, at) => {
      const cells = line.split(',')
      const where = `line ${at + 1} has ${cells.length} cells, not 8`
      if (cells.length !== 8) throw new UpstreamContractError({ endpoint, where })
      const placeFrom = (first: number) =>
        Object.fromEntries(PLACE.map((name, index) => [name, cells[first + index]]))
      return { departure: placeFrom(0), destination: placeFrom(4) }
    })
    return [Buffer.from(JSON.stringify(routes))]
  },
  verifyRequest: (question) => ({
    path: `/seats?of=${encodeURIComponent(questionKey(question))}`,
    wants: isJsonAnswer,
  }),
  readAnswer(chunks, question, scrub) {
    const read = readStrictJson(chunks, 8)
    const offers = 'fault' in read ? undefined : (read.value as { offers?: Offer[] } | null)?.offers
    if (!Array.isArray(offers)) {
      return unknownAnswer(question, { reason: 'malformed', detail: 'there are no offers' })
    }
    const legOf = (id: string) =>
      legFrom(
        offers.find(({ ref }) => ref === id),
        scrub,
      )
    const { flightId, returnFlightId } = question
    const back = returnFlightId === null ? null : legOf(returnFlightId)
    return { outbound: legOf(flightId), return: back, anomalies: [] }
  },
}

export interface Offer {
  readonly ref: string
  readonly seats: number
  readonly flight: {
    readonly carrier: string
    readonly number: number
    readonly ends: readonly [string, string]
    readonly times: readonly [string, string]
    readonly cents: number
  }
}

function legFrom(offer: Offer | undefined, scrub: (text: string) => string): LegObservation {
  if (offer === undefined) return { kind: 'unknown', reason: 'id_missing' }
  if (offer.seats === 0) return { kind: 'unavailable' }
  const { carrier, number, ends, times, cents } = offer.flight
  const [from, to, airline] = [...ends, carrier].map(scrub) as [string, string, string]
  const [departsAt, arrivesAt] = times
  const flight = { from, to, airline, numbers: [number], departsAt, arrivesAt, stops: [] }
  return {
    kind: 'available',
    flight: {
      price: { amount: (cents / 100).toFixed(2), currency: 'EUR' },
      priceIsOdd: cents === 0,
      totalUnlikeSum: false,
      identity: JSON.stringify([airline, 1, from, to, departsAt.slice(0, 10)]),
      itinerary: JSON.stringify([departsAt, arrivesAt, number]),
      departsAt,
      flight,
    },
  }
}
