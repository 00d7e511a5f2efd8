import { count } from './shell.js'

/** The Map view, and the Runs view with its reviews. */
export const network = {
  map: {
    spans: {
      1: 'the last day',
      7: 'the last week',
      30: 'the last month',
      365: 'the last year',
      0: 'two dates',
    },
    place: 'Place',
    empty: ['There are no routes yet.', 'The first list arrives within seconds of the start.'],
    /** @param {number} live @param {number} added @param {number} removed */
    label: (live, added, removed) =>
      `World map with ${live.toLocaleString()} live routes, ${added} added and ${removed} removed`,
    legend: {
      live: 'live',
      added: 'added',
      removed: 'removed',
      focus: 'of the chosen place',
      place: 'place',
    },
    directions: { both: 'both', out: 'out', in: 'in' },
    /** @param {number} n */
    connected: (n) => `connected with ${count(n, 'place')}`,
  },
  runs: {
    lists: { '': 'Both lists', routes: 'routes', 'with-availability': 'with-availability' },
    effects: { '': 'All runs', 'applied,held,rejected,failed': 'With an effect' },
    empty: ['No list has been fetched yet.', 'The first one arrives within seconds of the start.'],
    columns: {
      run: 'Run',
      list: 'List',
      status: 'Status',
      when: 'When',
      routes: 'Routes',
      added: 'Added',
      removed: 'Removed',
      gained: 'Gained',
      lost: 'Lost',
      took: 'Took',
    },
    /** @param {number | string} id */
    run: (id) => `Run ${id}`,
    /** @param {number} bytes */
    kilobytes: (bytes) => `${Math.round(bytes / 1000).toLocaleString()} kB`,
    /** @param {number} added @param {number} removed */
    mapOf: (added, removed) => `World map of the run: ${added} new, ${removed} gone`,
    /** @param {number} n */
    more: (n) => `and ${n.toLocaleString()} more`,
    missing: 'missing',
    /** @param {number} added @param {number} missing */
    onMap: (added, missing) =>
      `World map of the difference: ${missing.toLocaleString()} routes missing, ${added.toLocaleString()} added`,
    /** @param {string} country @param {number} missing @param {number} live */
    inCountry: (country, missing, live) => `${country}: ${missing} of ${live}`,
    /** @param {number} n */
    placesLost: (n) =>
      n === 0
        ? 'Every place would keep a route.'
        : `${count(n, 'place')} would have no route left.`,
    /** @param {number} lists */
    agree: (lists) => `${lists} lists in a row agree, since`,
    /** @param {string} list */
    otherHeld: (list) => `The list ${list} is held too:`,
    /** @param {string} run @param {number} removed @param {number} added */
    askApprove: (run, removed, added) =>
      `Approve run ${run}? It removes ${removed.toLocaleString()} routes and adds ${added.toLocaleString()}.`,
    /** @param {string} run @param {number} lost @param {number} gained */
    askApproveAvailability: (run, lost, gained) =>
      `Approve run ${run}? ${lost.toLocaleString()} routes can then not be booked any more, and ${gained.toLocaleString()} more can.`,
    /** @param {string} run */
    askReject: (run) => `Reject run ${run}? Lists that agree are held without a new alert.`,
  },
}
