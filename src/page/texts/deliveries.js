import { count } from './shell.js'

/** The API counts what waits for an endpoint up to this number. */
const MAX_COUNTED = 10_000

/** The Deliveries view: endpoints, their settings, and what was sent to them. */
export const deliveries = {
  addresses: {
    /** @param {string} address */
    ask: (address) => `End the messages to ${address}? Its endpoints are disabled.`,
  },
  endpoints: {
    /** @type {Record<string, string>} */
    disabledReasons: {
      paused: 'disabled by you',
      gone: 'disabled: its server answered that it is gone',
      failing: 'disabled: it failed for five days',
      not_allowed: 'disabled: the operator does not allow its address',
    },
    /** @param {number} n */
    pending: (n) => `${n.toLocaleString()}${n === MAX_COUNTED ? ' or more' : ''} pending`,
    /** @param {number} n */
    dead: (n) => `${n.toLocaleString()} not delivered`,
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
    /** @param {number} n */
    retried: (n) => `${count(n, 'failed delivery is', 'failed deliveries are')} tried again now.`,
    /** @param {string} name */
    askRemove: (name) => `Delete ${name} with its log?`,
    /** @param {number} n */
    replayed: (n) => `${count(n, 'delivery is', 'deliveries are')} sent again.`,
    /** @param {number} n */
    allDead: (n) => `Send ${n === 1 ? 'the one' : `all ${n.toLocaleString()}`} not delivered again`,
    /** @param {number} n */
    askAllDead: (n) => `Send ${n.toLocaleString()} that were not delivered again?`,
  },
  endpointForm: {
    kinds: 'Only these kinds',
    reasons: 'Only with these reasons',
    lists: 'Only watches of these lists',
    rules: 'Only if one of these happens',
    ruleNames: { soldOut: 'it sells out', bookable: 'it becomes bookable' },
    digests: {
      now: 'each record at once',
      '15m': 'joined, every 15 minutes',
      '1h': 'joined, every hour',
      daily: 'joined, once a day',
    },
    hour: 'at this hour',
    from: 'from',
    to: 'to',
    template: 'Body: JSON in which {sentence} and other names stand for values',
    headers: 'Headers of each request, one a line: they replace those before',
    /** @param {string} names */
    dropHeaders: (names) => `remove the headers ${names}`,
  },
  deliveries: {
    title: 'Log',
    shown: { recent: 'the last ones', dead: 'not delivered' },
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
    columns: { subject: 'What', state: 'State', when: 'When', attempt: 'Last attempt' },
    /** @param {string} what */
    againFor: (what) => `Send again: ${what}`,
    /** @param {string} what */
    detailsOf: (what) => `Details: ${what}`,
  },
}
