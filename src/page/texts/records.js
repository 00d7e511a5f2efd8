/** Records of change, beliefs, and the Changes view. */
export const records = {
  /** @param {string} price @param {string} type @param {boolean} isResident */
  each: (price, type, isResident) =>
    `${price} ${isResident ? 'a resident' : type === 'child' ? 'a' : 'an'} ${type}`,
  /** @param {string} id */
  flight: (id) => `flight ${id}`,
  /** @param {string} price */
  was: (price) => `was ${price}`,

  changes: {
    segments: { '': 'All', fares: 'Fares', routes: 'Routes' },
    empty: ['No change to show.', 'New changes appear here by themselves.'],
    noMatch: ['No change matches the filters.', 'Clear the filters.'],
    /** @param {number} seq */
    number: (seq) => `as number ${seq} of its feed`,
    /** @param {number} id */
    fareLink: (id) => `fare ${id}: its history and next check`,
    evidence: 'Evidence',
    /** @param {number} id */
    run: (id) => `the list of run ${id}`,
    /** @param {number | null} status @param {number | null} ms */
    answer: (status, ms) =>
      `The upstream’s answer: status ${status ?? 'unknown'}${ms === null ? '' : `, after ${Math.round(ms)} ms`}`,
  },
}
