/**
 * A number with its noun: "1 watch", "2 watches".
 * @param {number} n
 * @param {string} one
 */
export function count(n, one, many = `${one}s`) {
  return `${n.toLocaleString()} ${n === 1 ? one : many}`
}

/** What surrounds the views, and words that all of them use. */
export const shell = {
  name: 'farewatch',
  views: {
    now: 'Now',
    map: 'Map',
    changes: 'Changes',
    watches: 'Watch lists',
    deliveries: 'Deliveries',
    runs: 'Runs',
    schedule: 'Schedule',
  },
  noSuchView: ['This address leads to no view.', 'Your key may not open it. Choose a view above.'],
  stream: {
    connecting: 'connecting',
    live: 'live',
    lost: 'offline',
    refused: 'no live updates with this key',
  },

  loading: 'Loading …',
  working: 'Working …',
  close: 'Close',
  save: 'Save',
  remove: 'Delete',
  search: 'Search',
  none: '–',
  never: 'never',
  /** @param {string} reason */
  unreachable: (reason) =>
    `The server does not answer (${reason}). The page tries again by itself.`,
  /** @param {number} status */
  oddAnswer: (status) => `The answer had status ${status} and no explanation.`,
  count,
  /** @param {number} share */
  percent: (share) => `${Math.round(share * 100)}\u00A0%`,

  time: {
    now: 'now',
    /** @param {string} length */
    ago: (length) => `${length} ago`,
    /** @param {string} length */
    ahead: (length) => `in ${length}`,
  },

  home: {
    /** @param {string} routes @param {string | null} fares */
    fresh: (routes, fares) =>
      `The routes were fetched ${routes} ago${fares === null ? '.' : `, half of the fares checked in the last ${fares}.`}`,
    /** @param {string} who */
    replace: (who) => `This page is signed in as ${who}. The link replaces its keys.`,
    /** @param {string} zone */
    clock: (zone) => `Times: ${zone}. Times of flights: local.`,
  },
}
