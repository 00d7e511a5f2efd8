/** Records of change, beliefs, and the Changes view. */
export const records = {
  /** @param {string} price @param {string} type @param {boolean} isResident */
  each: (price, type, isResident) =>
    `${price} ${isResident ? 'a resident' : type === 'child' ? 'a' : 'an'} ${type}`,
  soldBy: 'sold by',
  /** @param {string} id */
  flight: (id) => `flight ${id}`,
  /** @param {string} price */
  was: (price) => `was ${price}`,

  changes: {
    about: 'About',
    segments: { '': 'All', fares: 'Fares', routes: 'Routes' },
    kind: 'Kind',
    allKinds: 'all',
    searchHint: 'place, flight, reference',
    empty: ['No change to show.', 'New changes appear here by themselves.'],
    noMatch: ['No change matches the filters.', 'Clear the filters.'],
    happened: 'It happened',
    after: 'after',
    and: 'and',
    by: 'by',
    recorded: 'Recorded',
    /** @param {number} seq */
    number: (seq) => `as number ${seq} of its feed`,
    watch: 'Watch',
    fare: 'Fare',
    /** @param {number} id */
    fareLink: (id) => `fare ${id}: its history and next check`,
    before: 'Before',
    now: 'After',
    nothing: 'nothing was known',
    noFlight: 'the flight is not shown',
    routeAvailable: 'The route can be booked.',
    routeUnavailable: 'The route cannot be booked.',
    routeUnknown: 'Whether the route can be booked is not known.',
    routeAbsent: 'The route does not exist.',
    evidence: 'Evidence',
    /** @param {number} id */
    run: (id) => `the list of run ${id}`,
    noEvidence: 'No answer is kept, or it is older than 90 days.',
    /** @param {number | null} status @param {number | null} ms */
    answer: (status, ms) =>
      `The upstream’s answer: status ${status ?? 'unknown'}${ms === null ? '' : `, after ${Math.round(ms)} ms`}`,
    deliveries: 'Deliveries',
    noDelivery: 'The record was sent to no endpoint.',
  },
}
