/** The API counts what waits for an endpoint up to this number. */
const MAX_COUNTED = 10_000

/** The Deliveries view: endpoints, their settings, and what was sent to them. */
export const deliveries = {
  endpoints: {
    label: 'Endpoints',
    all: 'All endpoints',
    empty: 'No endpoint yet.',
    emptyHelp: 'Records can be sent to your server, to Slack, or by e-mail.',
    noSuch: 'There is no endpoint with this address.',
    noSuchHelp: 'It may have been deleted.',
    /** @type {Record<string, string>} */
    disabledReasons: {
      paused: 'disabled by you',
      gone: 'disabled: its server answered that it is gone',
      failing: 'disabled: it failed for five days',
      unconfirmed: 'waits for the confirmation of its address',
      unsubscribed: 'disabled: the owner of its address has unsubscribed',
    },
    confirmation: 'Confirmation',
    /** @param {string} target */
    askSoon: (target) => `a message that asks for it goes to ${target} within seconds`,
    /** @param {string} target */
    asked: (target) => `${target} was asked by a message,`,
    /** @param {string} why */
    notAsked: (why) => `the message that asks for it could not be sent: ${why}`,
    confirmationHelp:
      'Nothing else is sent before its owner opens the link and presses the button. Records wait.',
    failing: 'failing',
    nothingSent: 'nothing was sent yet',
    works: 'works',
    /** @param {number} n */
    pending: (n) => `${n.toLocaleString()}${n === MAX_COUNTED ? ' or more' : ''} pending`,
    oldest: 'the oldest from',
    /** @param {number} n */
    dead: (n) => `${n.toLocaleString()} not delivered`,
    format: 'Format',
    address: 'Address',
    waits: 'Waiting',
    lastSuccess: 'Last success',
    failingSince: 'Failing since',
    heldUntil: 'Its server asked to wait until',
    lastFailure: 'Last error',
    formerSecret: 'The former secret signs until',
    receives: 'Receives',
    everything: 'all records',
    chosen: 'the records chosen below',
  },
  /** @type {Record<string, string>} How an attempt ended. */
  outcomes: {
    ok: 'accepted',
    http_3xx: 'the server redirects',
    http_4xx: 'the server refused it',
    http_5xx: 'the server failed',
    gone: 'the server says that it is gone',
    timeout: 'no answer within 15 s',
    dns: 'its name has no address',
    connect: 'no connection',
    tls: 'its certificate is not valid',
    reset: 'the connection broke',
    malformed: 'the answer cannot be understood',
    auth: 'the mail server refuses our login',
    not_set_up: 'e-mail is not set up',
    smtp_4xx: 'the mail server put it off',
    smtp_5xx: 'the mail server refused it',
    blocked: 'the address is not allowed',
  },
  endpointActions: {
    title: 'Actions',
    test: 'Test',
    tested: 'A test event is on its way. It appears in the log.',
    retry: 'Retry now',
    /** @param {number} n */
    retried: (n) =>
      `${n.toLocaleString()} failed ${n === 1 ? 'delivery is' : 'deliveries are'} tried again now.`,
    resend: 'Ask again',
    /** @param {string} target */
    resent: (target) => `A message with a new link goes to ${target}. The former link ends.`,
    disable: 'Disable',
    disabled: 'Disabled. Records wait until it is enabled.',
    enable: 'Enable',
    enabled: 'Enabled. It receives what it missed.',
    rotate: 'New secret',
    askRotate: 'Make a new secret? The present one signs too for 24 hours.',
    rotated: 'The endpoint has a new secret.',
    remove: 'Delete',
    /** @param {string} name */
    askRemove: (name) => `Delete ${name} with its log? What waits is not sent.`,
    secret: 'The secret, which is shown only now:',
    secretSaved: 'I have saved it',
    example: 'Example of',
    sendExample: 'Send example',
    exampleSent: 'An example without a number is on its way. It appears in the log.',
    replay: 'Send records again, from number',
    through: 'to',
    /** @param {number} from @param {number} through */
    askReplay: (from, through) => `Send the records ${from} to ${through} again?`,
    again: 'Send again',
    /** @param {number} n */
    replayed: (n) =>
      `${n.toLocaleString()} ${n === 1 ? 'delivery is' : 'deliveries are'} sent again.`,
    /** @param {number} n */
    allDead: (n) => `Send ${n === 1 ? 'the one' : `all ${n.toLocaleString()}`} not delivered again`,
    /** @param {number} n */
    askAllDead: (n) => `Send ${n.toLocaleString()} that were not delivered again?`,
  },
  endpointForm: {
    new: 'Add an endpoint',
    newAddress: 'An https address, or an e-mail address',
    add: 'Add',
    title: 'What it receives',
    description: 'Name',
    target: 'Another address (it stays if you leave this empty)',
    kinds: 'Only these kinds',
    reasons: 'Only with these reasons',
    lists: 'Only watches of these lists',
    rules: 'Only if one of these happens',
    soldOut: 'it sells out',
    bookable: 'it becomes bookable',
    priceBelow: 'its price falls below',
    amountHint: 'amount',
    currency: 'Currency',
    currencyHint: 'EUR',
    none: 'Nothing chosen: all of them.',
    digest: 'Messages',
    digests: {
      now: 'each record at once',
      '15m': 'joined, every 15 minutes',
      '1h': 'joined, every hour',
      daily: 'joined, once a day',
    },
    hour: 'at this hour',
    zone: 'in this time zone',
    save: 'Save',
    saved: 'Saved.',
  },
  deliveries: {
    title: 'Log',
    show: 'Show',
    recent: 'the last ones',
    deadOnes: 'not delivered',
    more: 'Show more',
    empty: 'Nothing was sent in the last 30 days.',
    noDead: 'Everything arrived.',
    pending: 'waits to be sent',
    delivered: 'delivered',
    dead: 'not delivered',
    deadReasons: {
      too_old: 'all attempts failed',
      blocked: 'the address is not allowed',
      too_large: 'the record is over 20 kB',
    },
    /** @param {number} seq @param {string} kind @param {string} reference */
    record: (seq, kind, reference) => `number ${seq}, ${reference} ${kind}`,
    /** @type {Record<string, string>} */
    events: { 'webhook.test': 'a test', 'webhook.disabled': 'another endpoint was disabled' },
    /** @param {string} outcome @param {number | null} status */
    attempt: (outcome, status) => `${outcome}${status === null ? '' : `, status ${status}`}`,
    last: 'last attempt:',
    next: 'next attempt',
    now: 'now',
    again: 'Send again',
    /** @param {string} what */
    againFor: (what) => `Send again: ${what}`,
    details: 'Details',
    /** @param {string} what */
    detailsOf: (what) => `Details: ${what}`,
    body: 'What is sent',
    noBody: 'The record is archived.',
    attempts: 'Attempts',
    noAttempts: 'No attempt was made in the last 30 days.',
    after: 'after',
  },
}
