/** Records of change, beliefs, and the Changes view. */
export const records = {
  kinds: {
    first_seen: 'first seen',
    became_available: 'can be booked',
    became_unavailable: 'cannot be booked any more',
    legs_changed: 'one leg changed',
    price_changed: 'the price changed',
    itinerary_changed: 'times, flight numbers or stops changed',
    identity_changed: 'another flight has this id',
    expired: 'ended',
    watch_started: 'watched from now on',
    route_added: 'route added',
    route_removed: 'route removed',
    route_gained_availability: 'route can be booked',
    route_lost_availability: 'route cannot be booked any more',
    place_changed: 'place changed',
  },
  reasons: {
    sold_out: 'sold out',
    sales_closed: 'sales closed before departure',
    unknown: 'cannot be booked any more',
    departed: 'departed',
    departs_on_passed: 'its day has passed',
    never_available: 'was not available for 30 days',
  },
  pairs: { bookable: 'bookable', not_bookable: 'not bookable', unknown: 'unknown', ended: 'ended' },
  legs: { available: 'available', unavailable: 'not available', unknown: 'unknown' },
  statuses: {
    new: 'not known yet',
    followed: 'followed',
    stale: 'too old to rely on',
    expired: 'ended',
    paused: 'paused',
  },
  /** @type {Record<string, string>} */
  hidden: {
    held: 'many flights change at once: this change waits',
    identity_mismatch: 'the answers show another flight',
    unanswered: 'its last answers were unusable',
  },
  whys: {
    first_check: 'its first check',
    confirmation: 'the last answer needs a second check',
    retry: 'the last check had no good answer',
    scheduled: 'its regular check',
  },
  /** @param {number} count @param {string} type @param {boolean} areResidents */
  travellers: (count, type, areResidents) => {
    const one = type === 'children' ? 'child' : type.slice(0, -1)
    return `${count} ${areResidents ? 'resident ' : ''}${count === 1 ? one : type}`
  },
  /** @param {string} id */
  flight: (id) => `flight ${id}`,
  /** @param {string} was @param {string} is */
  priceMoved: (was, is) => `${was} → ${is}`,
  /** @param {string} price */
  bookableFor: (price) => `can be booked for ${price}`,
  /** @param {string} price */
  was: (price) => `was ${price}`,

  changes: {
    kind: 'Kind',
    allKinds: 'all',
    searchHint: 'place, flight, reference',
    empty: 'No change to show.',
    emptyHelp: 'New changes appear here by themselves.',
    noMatch: 'No change matches the filters.',
    noMatchHelp: 'Choose another kind, or clear the search.',
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
    noEvidence:
      'No answer is kept: the record follows from no answer, or the answer is older than 90 days.',
    /** @param {number | null} status @param {number | null} ms */
    answer: (status, ms) =>
      `The upstream’s answer: status ${status ?? 'unknown'}${ms === null ? '' : `, after ${Math.round(ms)} ms`}`,
    deliveries: 'Deliveries',
    noDelivery: 'The record was sent to no endpoint.',
    routesNotSent: 'Changes of routes are read from the feed. They are not sent to endpoints.',
  },
}
