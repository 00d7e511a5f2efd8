import { count } from './shell.js'

/** The Watch lists view: watches, imports and keys. */
export const watches = {
  lists: {
    empty: ['You watch nothing yet.', 'Add a watch, or drop a CSV file.'],
    /** @param {number} n */
    paused: (n) => `${n.toLocaleString()} paused`,
    /** @param {number} set */
    filters: (set) => (set === 0 ? 'Filters' : `Filters (${set})`),
    place: 'Place',
    departsFrom: 'Departs from',
    departsTo: 'to',
    columns: {
      flight: 'Flight',
      passengers: 'Passengers',
      price: 'Price',
      trend: 'Last 3 days',
      state: 'State',
      checked: 'Checked',
    },
    noMatch: ['No watch matches.', 'Clear the search or the filters.'],
    emptyList: ['This list has no watches.', 'Add one, or drop a CSV file.'],
  },
  watch: {
    /** @param {string} price @param {string} currency */
    lastPrice: (price, currency) => `Prices; the last one is ${price} ${currency}`,
    /** @param {string} reason */
    lastUnknown: (reason) => `(the last one had no good answer: ${reason})`,
    pace: 'How often',
    /** @param {string} every @param {string} changes */
    paceText: (every, changes) =>
      `every ${every} or more often: it changes about ${changes} times a day`,
    /** @param {string} reference @param {string} list */
    askRemove: (reference, list) => `Delete ${reference} from ${list}?`,
  },
  links: {
    /** @param {number} n */
    open: (n) => `${count(n, 'link is', 'links are')} good, at most until`,
  },
  form: {
    add: 'Add a watch',
    /** @param {string} flightId */
    tryFlight: (flightId) => `The sandbox has a flight that you do not watch: ${flightId}.`,
    /** @param {string} flightId */
    tryReference: (flightId) => `try-${flightId}`,
    /** @param {number} n */
    found: (n) => count(n, 'flight'),
    reference: 'Reference',
    flightId: 'Outbound flight id',
    returnFlightId: 'Return flight id',
    optional: 'optional',
    choices: { '': 'no', true: 'yes' },
  },
  import: {
    /** @param {string} row @param {string} column */
    at: (row, column) => `Row ${row}${column && `, column ${column}`}`,
    /** @param {{ added: number, changed: number, unchanged: number }} plan */
    plan: ({ added, changed, unchanged }) =>
      `${count(added, 'watch', 'watches')} would be added, ${changed.toLocaleString()} changed, ${unchanged.toLocaleString()} left as they are`,
    /** @param {number} n */
    cleared: (n) =>
      `${n.toLocaleString()} of the changed ones would lose a setting that the file leaves out.`,
    /** @param {number} n */
    ended: (n) => `${n.toLocaleString()} of them have ended and stay ended.`,
  },
}
