import { count } from './shell.js'

/** The Now view and the Schedule view. */
export const work = {
  now: {
    until: 'until',
    /** @type {Record<string, string>} */
    planned: {
      checks: 'Planned: no fare is checked from',
      syncs: 'Planned: no list is fetched from',
      deliveries: 'Planned: nothing is delivered from',
    },
    /** @type {Record<string, string>} */
    last: { fares: 'Last changes of fares', routes: 'Last changes of routes' },
    history: 'The last hours',
    /** @type {Record<string, string>} */
    spans: { 1: '1 h', 6: '6 h', 24: '24 h' },
    /** @type {Record<string, string>} */
    inSpan: { 1: 'in the last hour', 6: 'in the last 6 hours', 24: 'in the last day' },
    changes: {
      gained: 'bookable again',
      lost: 'not bookable any more',
      priced: 'with another price',
      others: 'with another change',
    },
    /** @param {string} span */
    noChanges: (span) => `No fare changed ${span}.`,
    /** @param {string} count @param {string} span @param {string} parts */
    changed: (count, span, parts) => `${count} of fares ${span}: ${parts}.`,
    /** @param {string} added @param {string} removed */
    routesChanged: (added, removed) => `${added} added, ${removed} removed.`,
    fares: 'Are the fares fresh?',
    /** @param {string} count @param {string} age */
    checked: (count, age) => `Yes. Half of ${count} were checked in the last ${age}.`,
    /** @param {string} most @param {string} all */
    oldestAges: (most, all) => `90\u00A0% within ${most}, all within ${all}.`,
    /** @param {string} span @param {string} age */
    ages: (span, age) => `90\u00A0% were checked within ${age} ${span}.`,
    /** @param {string} span */
    noAges: (span) => `No fare had a good check ${span}.`,
    /** @param {string} share @param {string} span */
    stale: (share, span) => `At worst ${share} of the fares were too old to rely on ${span}.`,
    /** @param {string} span */
    noDelay: (span) => `No check found a change ${span}.`,
    /** @param {string} changes @param {string} span @param {string} most */
    delays: (changes, span, most) =>
      `${changes} ${span}: half within this time, 95\u00A0% within ${most}.`,
    /** @param {string} checks @param {string | null} silent */
    checksMade: (checks, silent) =>
      `${checks} in the last minute${silent === null ? '' : `; ${silent} of all without a good answer`}.`,
    /** @param {string} share @param {number} rate */
    used: (share, rate) => `${share} of the budget of ${rate} requests a second is used.`,
    deliveries: 'Do changes reach their receivers?',
    /** @param {string} endpoints */
    delivered: (endpoints) =>
      `Yes. ${endpoints} ${endpoints.startsWith('1 ') ? 'is' : 'are'} enabled.`,
    endpoints: 'The endpoints',
    /** @param {number} n */
    held: (n) => `Yes, ${count(n, 'thing')}.`,
    /** @param {string} fares @param {boolean} one */
    contradicted: (fares, one) =>
      `The last answer of ${fares} contradicts what is believed of ${one ? 'it' : 'them'}.`,
    /** @type {Record<string, string>} */
    waits: { confirmation: 'to be confirmed, since', late: 'late, since', held: 'held, since' },
    /** @param {number} run */
    releasable: (run) => `Run ${run}: lists that agree with it are applied by themselves from`,
    /** @param {number} run */
    notReleasable: (run) => `Run ${run} waits until an operator decides.`,
    /** @param {string} processes */
    works: (processes) => `Yes. ${processes} ${processes.startsWith('1 ') ? 'runs' : 'run'}.`,
    /** @param {number} run */
    review: (run) => `Review run ${run}`,
    /** @param {string} farewatch @param {string} schema @param {string} postgresql */
    versions: (farewatch, schema, postgresql) =>
      `farewatch ${farewatch}, schema ${schema}, PostgreSQL ${postgresql}; as of`,
  },
  schedule: {
    /** @param {number} rate @param {string} fares */
    budgetFor: (rate, fares) => `${rate} requests a second for ${fares}.`,
    /** @param {string} list */
    list: (list) => `The list ${list}`,
    /** @param {{ fareId: number, returnFlightId: string | null, watchers: number }} fare */
    choice: ({ fareId, returnFlightId: back, watchers }) =>
      `fare ${fareId}${back === null ? '' : `, return ${back}`}: ${count(watchers, 'watch', 'watches')}`,
    /** @param {number} id */
    fareTitle: (id) => `Fare ${id}`,
  },
}
