import { count } from './shell.js'

/** The Map view, and the Runs view with its reviews. */
export const network = {
  map: {
    show: 'Show',
    spans: {
      1: 'the last day',
      7: 'the last week',
      30: 'the last month',
      365: 'the last year',
      0: 'two dates',
    },
    from: 'From',
    to: 'to',
    place: 'Place',
    placeHint: 'code or city',
    empty: ['There are no routes yet.', 'The first list arrives within seconds of the start.'],
    play: 'Play',
    pause: 'Pause',
    time: 'Time',
    live: 'live routes',
    added: 'added',
    removed: 'removed',
    /** @param {number} live @param {number} added @param {number} removed */
    label: (live, added, removed) =>
      `World map with ${live.toLocaleString()} live routes, ${added} added and ${removed} removed`,
    failed: 'The map could not be loaded.',
    legend: {
      live: 'live',
      added: 'added',
      removed: 'removed',
      focus: 'of the chosen place',
      place: 'place',
    },
    zoomIn: 'Zoom in',
    zoomOut: 'Zoom out',
    showAll: 'The whole map',
    help: 'Zoom in for more routes. Click a place for its routes. Arrows move the map, + and − zoom, Enter opens the place in the middle.',
    changes: 'Changes',
    unchanged: 'No route was added or removed.',
    when: 'When',
    route: 'Route',
    what: 'Change',
    wasAdded: '+\u00A0added',
    wasRemoved: '−\u00A0removed',
    country: 'Country',
    direction: 'Direction',
    directions: { both: 'both', out: 'out', in: 'in' },
    firstSeen: 'First seen on',
    /** @param {number} n */
    connected: (n) => `connected with ${count(n, 'place')}`,
  },
  runs: {
    lists: { '': 'Both lists', routes: 'routes', 'with-availability': 'with-availability' },
    effect: 'Effect',
    effects: { '': 'All runs', 'applied,held,rejected,failed': 'With an effect' },
    first: '(first)',
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
    arrived: 'Arrived',
    routesIn: 'Routes in the list',
    size: 'Size',
    /** @param {number} bytes */
    kilobytes: (bytes) => `${Math.round(bytes / 1000).toLocaleString()} kB`,
    noRoutes: 'The run changed no route.',
    noRecords: 'The history begins with this list.',
    /** @param {number} added @param {number} removed */
    mapOf: (added, removed) => `World map of the run: ${added} new, ${removed} gone`,
    /** @param {number} n */
    more: (n) => `and ${n.toLocaleString()} more`,
    review: 'Review',
    ifApproved: 'If it were approved now',
    liveBefore: 'live before',
    missing: 'missing',
    removed: 'removed',
    added: 'added',
    gained: 'become bookable',
    lost: 'not bookable any more',
    liveAfter: 'live after',
    notSuspicious: 'The guard would not hold this list now.',
    /** @param {number} added @param {number} missing */
    onMap: (added, missing) =>
      `World map of the difference: ${missing.toLocaleString()} routes missing, ${added.toLocaleString()} added`,
    kept: 'stay',
    where: 'Where the missing routes are',
    /** @param {string} country @param {number} missing @param {number} live */
    inCountry: (country, missing, live) => `${country}: ${missing} of ${live}`,
    /** @param {number} n */
    placesLost: (n) =>
      n === 0
        ? 'Every place would keep a route.'
        : `${count(n, 'place')} would have no route left.`,
    places: 'Places',
    /** @param {number} lists */
    agree: (lists) => `${lists} lists in a row agree, since`,
    /** @param {string} list */
    otherHeld: (list) => `The list ${list} is held too:`,
    routesFirst: 'Decide about the routes first.',
    rejectedBefore: 'An operator rejected a list that agrees with it:',
    likelyReal: 'Likely real: much changes since the last accepted list, of',
    moved: 'The forecast has changed. Read it again before you decide.',
    approve: 'Approve',
    reject: 'Reject',
    /** @param {string} run @param {number} removed @param {number} added */
    askApprove: (run, removed, added) =>
      `Approve run ${run}? It removes ${removed.toLocaleString()} routes and adds ${added.toLocaleString()}.`,
    /** @param {string} run @param {number} lost @param {number} gained */
    askApproveAvailability: (run, lost, gained) =>
      `Approve run ${run}? ${lost.toLocaleString()} routes can then not be booked any more, and ${gained.toLocaleString()} more can.`,
    /** @param {string} run */
    askReject: (run) => `Reject run ${run}? Lists that agree are held without a new alert.`,
    toDecide: 'An operator decides with one of these commands:',
  },
}
