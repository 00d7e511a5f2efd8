import { count } from './shell.js'

/** The Watch lists view: watches, imports and keys. */
export const watches = {
  lists: {
    empty: ['You watch nothing yet.', 'Add a watch, or drop a CSV file.'],
    /** @param {number} n */
    paused: (n) => `${n.toLocaleString()} paused`,
    searchHint: 'place, airline, reference',
    label: 'Watches',
    /** @param {number} set */
    filters: (set) => (set === 0 ? 'Filters' : `Filters (${set})`),
    state: 'State',
    anyState: 'any',
    place: 'Place',
    placeHint: 'PMI or Palma',
    departsFrom: 'Departs from',
    departsTo: 'to',
    clear: 'Clear the filters',
    sortBy: 'Sort by',
    columns: {
      flight: 'Flight',
      passengers: 'Passengers',
      price: 'Price',
      trend: 'Last 3 days',
      state: 'State',
      checked: 'Checked',
    },
    next: 'next',
    due: 'due',
    noMatch: ['No watch matches.', 'Clear the search or the filters.'],
    emptyList: ['This list has no watches.', 'Add one, or drop a CSV file.'],
    sparkUnknown: 'nothing is known yet',
  },
  watch: {
    routeHelp:
      'Your feed has a record when the route comes, goes, can be booked, or cannot any more.',
    price: 'price',
    prices: 'Price for all passengers',
    noPrice: 'No price is known since the watch began.',
    /** @param {string} price @param {string} currency */
    lastPrice: (price, currency) => `Prices; the last one is ${price} ${currency}`,
    checks: 'Checks',
    records: 'Records',
    noRecords: 'It has not changed yet.',
    state: 'State',
    flight: 'Flight',
    return: 'Return',
    passengers: 'Passengers',
    lastSeen: 'Last price',
    lastGood: 'Last good check',
    contradicted: 'Contradicted since',
    held: 'Held since',
    heldHelp: 'What is still so ten minutes later is recorded.',
    /** @param {string} reason */
    lastUnknown: (reason) => `(the last one had no good answer: ${reason})`,
    next: 'Next check',
    orLater: 'or later:',
    noNext: 'none',
    pace: 'How often',
    /** @param {string} every @param {string} changes */
    paceText: (every, changes) =>
      `every ${every} or more often: it changes about ${changes} times a day`,
    pause: 'Pause',
    resume: 'Resume',
    edit: 'Edit',
    /** @param {string} reference @param {string} list */
    askRemove: (reference, list) => `Delete ${reference} from ${list}?`,
  },
  links: {
    make: 'Make a link for a customer',
    made: 'Anyone with this link sees the watch for seven days. It is shown only now:',
    /** @param {number} n */
    open: (n) => `${count(n, 'link is', 'links are')} good, at most until`,
    revoke: 'Revoke',
  },
  form: {
    add: 'Add a watch',
    addAll: 'Add it all the same',
    doubts: 'Is the flight right? It can be added all the same.',
    /** @param {string} flightId */
    tryFlight: (flightId) => `The sandbox has a flight that you do not watch: ${flightId}.`,
    tryThis: 'Try this one',
    /** @param {string} flightId */
    tryReference: (flightId) => `try-${flightId}`,
    known: 'A flight that you know already',
    find: 'Find',
    findHint: 'PMI, Barcelona, 2027-01-08',
    /** @param {number} n */
    found: (n) => count(n, 'flight'),
    reference: 'Reference',
    referenceHint: 'your name for the watch',
    flightId: 'Outbound flight id',
    flightHelp: 'A flight id is the number under which the upstream’s search shows a flight.',
    returnFlightId: 'Return flight id',
    optional: 'optional',
    terms: 'For whom',
    choices: { '': 'no', true: 'yes' },
    restart: 'Another flight or other passengers: the watch begins again.',
    exists: 'The list has this reference already.',
  },
  import: {
    drop: 'Drop a CSV file of watches here, or choose one',
    /** @param {string} row @param {string} column */
    at: (row, column) => `Row ${row}${column && `, column ${column}`}`,
    into: 'Into the list',
    /** @param {string} name */
    preview: (name) => `Preview ${name}`,
    /** @param {{ added: number, changed: number, unchanged: number }} plan */
    plan: ({ added, changed, unchanged }) =>
      `${count(added, 'watch', 'watches')} would be added, ${changed.toLocaleString()} changed, ${unchanged.toLocaleString()} left as they are`,
    /** @param {number} n */
    cleared: (n) =>
      `${n.toLocaleString()} of the changed ones would lose a setting that the file leaves out.`,
    /** @param {number} n */
    ended: (n) => `${n.toLocaleString()} of them have ended and stay ended.`,
    warnings: 'Doubtful flights, which are imported all the same:',
    nothing: 'The file changes nothing.',
    import: 'Import',
    unreadable: 'The file could not be read. Choose it again.',
  },
}
