/** @import { Answer, Item } from './answers.ts' */
import { texts } from './texts.js'

/**
 * The keys of a session: an operator's, a reseller's, or one of each.
 * @typedef {{ operator?: string, reseller?: string }} Keys
 */

/** Where the keys are kept. They never appear in an address. */
const KEYS = 'farewatch.keys'

/** @returns {Keys} */
function savedKeys() {
  return JSON.parse(sessionStorage.getItem(KEYS) ?? localStorage.getItem(KEYS) ?? '{}')
}

/**
 * Keys of a link are this browser's own and end by themselves, so they are kept for all of its tabs. A typed
 * key is kept for its tab alone.
 * @param {Keys} keys
 * @param {{ thisTabAlone: boolean }} options
 */
export function saveKeys(keys, { thisTabAlone }) {
  forgetKeys()
  const storage = thisTabAlone ? sessionStorage : localStorage
  storage.setItem(KEYS, JSON.stringify(keys))
}

/** The time that the server has to revoke a key. After it the page forgets the key all the same. */
const REVOKE_MS = 5_000

/** Revokes the keys that a link gave this browser, and forgets all. A typed key may be used elsewhere and stays. */
export async function signOut() {
  const given = JSON.parse(localStorage.getItem(KEYS) ?? '{}')
  const revoke = (/** @type {string} */ key) =>
    callApi('/sign-out', { method: 'POST', key, signal: AbortSignal.timeout(REVOKE_MS) })
  await Promise.allSettled(Object.values(given).map(revoke))
  forgetKeys()
}

function forgetKeys() {
  sessionStorage.removeItem(KEYS)
  localStorage.removeItem(KEYS)
}

/** The paths of what belongs to one reseller. */
export const OF_RESELLER = /^\/(watch|webhook|own-|deliveries)/

/** The account that owns the endpoints of operators. */
const OPERATORS = '(operators)'
const OF_ENDPOINTS = /^\/(webhook|own-|deliveries)/

/** Whether the endpoints that are shown are those of operators. */
export let showsOperators = false

/** @param {boolean} shows */
export function showOperators(shows) {
  showsOperators = shows
}

/** @param {string} path */
function keyFor(path) {
  const { operator, reseller } = savedKeys()
  if (showsOperators && OF_ENDPOINTS.test(path)) return operator
  return OF_RESELLER.test(path) ? (reseller ?? operator) : (operator ?? reseller)
}

/** An answer that is not a success, with the problem that the API gave. */
export class ProblemError extends Error {
  /**
   * @param {number} status
   * @param {{ code?: string, title?: string, detail?: string, pointer?: string,
   *   errors?: readonly { detail: string, pointer: string }[] }} problem
   */
  constructor(status, problem) {
    super(messageOf(problem) ?? texts.oddAnswer(status))
    this.status = status
    this.code = problem.code ?? ''
    this.problem = problem
  }
}

/**
 * What is wrong, after the name of the field of the body that it is about. A count of errors is about no field.
 * @param {{ title?: string, detail?: string, pointer?: string, errors?: readonly { detail: string }[] }} problem
 */
function messageOf({ title, detail = title, pointer = '', errors = [] }) {
  const field = pointer.split('/').at(-1) ?? ''
  const isCount = errors.length > 0 && errors.every((one) => one.detail !== detail)
  return isCount || detail?.includes(field) !== false ? detail : `${field} ${detail}`
}

/** A difference below this is the delay of an answer, not a wrong clock. */
const CLOCK_TOLERANCE_MS = 5_000
let clockIsBehindMs = 0

/** The present instant by the server's clock: that of the browser may be wrong. In milliseconds. */
export function serverNow() {
  return Date.now() + clockIsBehindMs
}

/** @param {Response} response */
function compareClocks({ headers }) {
  const behind = Date.parse(headers.get('date') ?? '') - Date.now()
  if (!Number.isNaN(behind)) clockIsBehindMs = Math.abs(behind) < CLOCK_TOLERANCE_MS ? 0 : behind
}

/**
 * @param {string} path below /api/v1
 * @param {string} [key] default: that of the session which may call the path
 * @returns {Record<string, string>}
 */
export function authorization(path, key = keyFor(path)) {
  if (key === undefined) return {}
  const account =
    showsOperators && OF_ENDPOINTS.test(path) ? { 'farewatch-reseller': OPERATORS } : {}
  return { authorization: `Bearer ${key}`, ...account }
}

/** How what is shown is read again, and how often that happens anyway. @type {Map<() => Promise<void>, number | undefined>} */
export const shown = new Map()

/**
 * Calls the API. Throws a ProblemError, or a TypeError if the server cannot be reached. A call that changes something
 * ends when what is shown has been read again. What was deleted is left instead.
 * @template {string} Path
 * @template {string} [Method='GET']
 * @param {Path} path below /api/v1
 * @param {{ method?: Method, body?: unknown, csv?: ArrayBuffer, signal?: AbortSignal, key?: string }} [options]
 * @returns {Promise<Answer<Method, Path>>} the decoded body; null if there is none
 */
export async function callApi(path, { method, body, csv, signal, key } = {}) {
  const content =
    csv !== undefined
      ? { body: csv, type: 'text/csv' }
      : body !== undefined
        ? { body: JSON.stringify(body), type: 'application/json' }
        : undefined
  const response = await fetch(`/api/v1${path}`, {
    method: method ?? 'GET',
    headers: {
      ...authorization(path, key),
      ...(content === undefined ? {} : { 'content-type': content.type }),
    },
    ...(content === undefined ? {} : { body: content.body }),
    ...(signal === undefined ? {} : { signal }),
  })
  compareClocks(response)
  const text = await response.text()
  const decoded = decodedOf(text)
  if (!response.ok || decoded === undefined) throw new ProblemError(response.status, decoded ?? {})
  const reading = method === undefined ? undefined : readShown(() => true)
  if (method !== 'DELETE') await reading
  return decoded
}

/**
 * Reads again what is shown, the outer before the inner: what is no longer shown then is not read.
 * @param {(everyMs: number | undefined) => boolean} isWanted
 */
export async function readShown(isWanted) {
  for (const [reload, everyMs] of [...shown]) {
    if (shown.has(reload) && isWanted(everyMs)) await reload()
  }
}

/** Undefined if it is not JSON: a proxy answers with pages of its own. @param {string} text */
function decodedOf(text) {
  try {
    return text === '' ? null : JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Reads all pages of a list.
 * @template {string} Path
 * @param {Path} path
 * @param {number} [maxItems] how many items to read at most
 * @returns {Promise<Item<Path>[]>}
 */
export async function readAll(path, maxItems = 10_000) {
  /** @type {Item<Path>[]} */
  const items = []
  /** @type {string | null} */
  let cursor = null
  do {
    const joiner = path.includes('?') ? '&' : '?'
    const suffix = cursor === null ? '' : `${joiner}cursor=${encodeURIComponent(cursor)}`
    const page = /** @type {{ items: Item<Path>[], next: string | null }} */ (
      /** @type {unknown} */ (await callApi(`${path}${suffix}`))
    )
    items.push(...page.items)
    cursor = page.next
  } while (cursor !== null && items.length < maxItems)
  return items
}

/**
 * Whom the keys of the session belong to: known before the first view is drawn.
 * @typedef {{ isOperator: boolean, reseller: string | null, scopes: string[] }} Caller
 */
export const caller = /** @type {Caller} */ ({})

/** Whether the caller may change what is shown. */
export function mayChange() {
  return caller.scopes.includes(showsOperators ? 'operate' : 'watch')
}

/** Finds whom the keys belong to. @returns {Promise<boolean>} false without a valid key */
export async function readCaller() {
  const found = await Promise.all(Object.values(savedKeys()).map(callerOf))
  const callers = found.filter((one) => one !== null)
  caller.isOperator = callers.some(({ kind }) => kind === 'operator')
  caller.reseller = callers.find(({ kind }) => kind === 'reseller')?.reseller ?? null
  caller.scopes = callers.flatMap(({ scopes }) => scopes)
  return callers.length > 0
}

/** @param {string} key null if it is not valid */
export function callerOf(key) {
  return callApi('/caller', { key }).catch((error) => {
    if (error instanceof ProblemError && error.status === 401) return null
    throw error
  })
}
