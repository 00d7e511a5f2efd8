/** The Now view and the Schedule view. */
export const work = {
  now: {
    routes: 'Are the routes fresh?',
    noRoutes: 'No list of routes has been accepted yet.',
    /** @param {string[]} lists */
    late: (lists) =>
      lists.length === 1
        ? `No: the list ${lists[0]} was not fetched when it was due.`
        : `No: the lists ${lists.join(' and ')} were not fetched when they were due.`,
    lateHelp: 'names what stops the syncs.',
    fetched: 'Yes. The routes were fetched',
    /** @param {string} list */
    nextFetch: (list) => `${list}: next fetch`,
    fares: 'Are the fares fresh?',
    noFares: 'No fare is watched yet.',
    noFaresHelp: 'Add some under',
    /** @param {string} count @param {string} all @param {boolean} one */
    stale: (count, all, one) => `No: ${count} of ${all} ${one ? 'is' : 'are'} too old to rely on.`,
    /** @param {string} count @param {string} all */
    unanswered: (count, all) => `${count} of ${all} had no good check yet.`,
    /** @param {string} count @param {string} age */
    checked: (count, age) => `Yes. Half of ${count} were checked in the last ${age}.`,
    staleHelp: 'A larger budget or fewer watches help. The setting of the budget is',
    medianAge: 'median age',
    oldestTenth: 'the oldest tenth is older than',
    oldest: 'oldest',
    delay: 'How soon are changes detected?',
    noDelay: 'No change was detected in the last day.',
    /** @param {string} changes @param {string} half @param {string} most */
    delays: (changes, half, most) =>
      `Half of ${changes} in the last day were detected within about ${half}, and 95 % within ${most}.`,
    /** @param {string} priority */
    p50: (priority) => `half of ${priority}`,
    /** @param {string} priority */
    p95: (priority) => `95 % of ${priority}`,
    atMost: '95 % of all changes, at most',
    upstream: 'Is the upstream well?',
    well: 'Yes. It answers.',
    notAsked: 'No call has had an answer yet.',
    /** @param {string} share */
    silent: (share) => `${share} of the checks in the last minute had no good answer.`,
    /** @param {string} endpoint */
    failing: (endpoint) => `No: calls of ${endpoint} have failed since`,
    probes: 'Single calls test it.',
    paused: 'It asked for a pause until',
    probeHelp:
      'calls the upstream once and prints the answer. Beliefs stay, and are marked as too old with time.',
    budget: 'Is the budget used?',
    callsPaused: 'No: all calls are paused.',
    /** @param {string} share @param {number} rate */
    limited: (share, rate) => `The upstream allows ${share} of ${rate} requests a second.`,
    /** @param {string} share @param {number} rate */
    used: (share, rate) => `${share} of ${rate} requests a second are used.`,
    checks: 'checks in the last minute',
    unknown: 'of them without a good answer',
    /** @param {string} users */
    usedBy: (users) => `Most calls of the last hour: ${users}.`,
    held: 'Is anything held?',
    /** @param {string} lists @param {boolean} one @param {string} reason */
    heldLists: (lists, one, reason) =>
      `Yes: ${lists} ${one ? 'waits' : 'wait'} for a decision. ${reason}`,
    heldReason: 'It looks like an accident.',
    nothingHeld: 'No. Every list was applied or rejected.',
    /** @param {number} id */
    review: (id) => `Review run ${id}`,
    incidents: 'Are there incidents?',
    /** @type {Record<string, string>} */
    incidentKinds: {
      mass_loss: 'Many fares were lost at once',
      mass_gain: 'Many fares reopened at once',
      mass_identity_change: 'Many fares show another flight at once',
      mass_itinerary_change: 'Many itineraries changed at once',
      mass_price_change: 'Many prices changed at once',
      mass_expiry: 'Many fares ended at once',
      upstream_trouble: 'Most checks have no good answer',
    },
    since: 'since',
    incidentEffect: 'Changes of this kind wait. What is still so when its hold ends is recorded.',
    noIncident: 'No.',
    incidentHelp: 'shows them. Read also the',
    runbook: 'runbook',
    /** @param {string} farewatch @param {string} schema @param {string} postgresql */
    versions: (farewatch, schema, postgresql) =>
      `farewatch ${farewatch}, schema ${schema}, PostgreSQL ${postgresql}; as of`,
  },
  /** @param {string} name */
  priority: (name) => (name === 'all' ? 'all changes' : `${name} priority`),
  schedule: {
    budget: 'The budget',
    /** @param {number} rate @param {string} fares */
    budgetFor: (rate, fares) => `${rate} requests a second for ${fares}.`,
    used: 'used in the last minute',
    ahead: 'reserved ahead',
    round: 'time to check all fares once',
    /** @param {string} list */
    list: (list) => `The list ${list}`,
    listNext: 'It is fetched again',
    listLate: 'It is overdue. It was to be fetched',
    listFailing: 'The last attempts failed. The next one is',
    accepted: 'last accepted',
    tried: 'last tried',
    calls: 'Where the calls of the last hour went',
    noCalls: 'No call was counted in the last hour.',
    byLane: 'By lane',
    byReseller: 'By reseller',
    byPriority: 'By priority',
    lanes: {
      scheduled: 'regular checks',
      confirmation: 'second checks',
      new_watch: 'first checks',
      retry: 'checks again after no good answer',
      on_demand: 'on demand',
      quick_retry: 'immediate retries',
      list: 'route lists',
    },
    noReseller: 'no reseller',
    noPriority: 'no priority',
    /** @param {string} name */
    minutes: (name) => `Calls by minute: ${name}`,
    fare: 'A fare',
    recent: 'Fares that changed last',
    find: 'Find',
    flightId: 'Flight id',
    findHint: 'of an outbound flight',
    notFound: 'No tracked fare has this outbound flight.',
    notFoundHelp: 'Changes of fares link to their fare.',
    found: 'Several fares have this outbound flight. Choose one.',
    /** @param {number} id @param {string | null} back @param {number} watchers */
    choice: (id, back, watchers) =>
      `fare ${id}${back === null ? '' : `, return ${back}`}: ${watchers === 1 ? '1 watch' : `${watchers} watches`}`,
    /** @param {number} id */
    fareTitle: (id) => `Fare ${id}`,
    state: 'State',
    flight: 'Flight',
    return: 'Return',
    lastGood: 'Last good check',
    /** @param {string} reason */
    lastUnknown: (reason) => `(the last one had no good answer: ${reason})`,
    next: 'Next check',
    noNext: 'none: it is not checked any more',
    pace: 'Why this often',
    beliefs: 'What was believed',
    noBeliefs: 'It had no good check yet.',
    records: 'Records',
    noRecords: 'It has not changed yet.',
    until: 'now',
  },
}
