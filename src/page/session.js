import { texts } from './texts.js'

/** The key of this tab is kept for the tab alone and never appears in an address. */
const KEY = 'farewatch.key'

/** @returns {string | null} */
export function savedKey() {
  return sessionStorage.getItem(KEY)
}

/** @param {string | null} key */
export function saveKey(key) {
  if (key === null) sessionStorage.removeItem(KEY)
  else sessionStorage.setItem(KEY, key)
}

/** An answer that is not a success, with the problem that the API gave. */
export class ProblemError extends Error {
  /**
   * @param {number} status
   * @param {{ code?: string, title?: string, detail?: string,
   *   errors?: { detail?: string, message?: string, pointer?: string }[] }} problem
   */
  constructor(status, problem) {
    super(problem.detail ?? problem.title ?? texts.oddAnswer(status))
    this.status = status
    this.code = problem.code ?? ''
    this.problem = problem
  }
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

/** @returns {Record<string, string>} */
export function authorization() {
  const key = savedKey()
  return key === null ? {} : { authorization: `Bearer ${key}` }
}

/**
 * Calls the API. Throws a ProblemError, or a TypeError if the server cannot be reached.
 * @param {string} path below /api/v1
 * @param {{ method?: string, body?: unknown, csv?: ArrayBuffer, signal?: AbortSignal }} [options]
 * @returns {Promise<any>} the decoded body; null if there is none
 */
export async function callApi(path, { method = 'GET', body, csv, signal } = {}) {
  const content =
    csv !== undefined
      ? { body: csv, type: 'text/csv' }
      : body !== undefined
        ? { body: JSON.stringify(body), type: 'application/json' }
        : undefined
  const response = await fetch(`/api/v1${path}`, {
    method,
    headers: {
      ...authorization(),
      ...(content === undefined ? {} : { 'content-type': content.type }),
    },
    ...(content === undefined ? {} : { body: content.body }),
    ...(signal === undefined ? {} : { signal }),
  })
  compareClocks(response)
  const text = await response.text()
  const decoded = decodedOf(text)
  if (!response.ok || decoded === undefined) throw new ProblemError(response.status, decoded ?? {})
  return decoded
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
 * @param {string} path
 * @param {number} [maxItems] how many items to read at most
 * @returns {Promise<any[]>}
 */
export async function readAll(path, maxItems = 10_000) {
  const items = []
  let cursor = null
  do {
    const joiner = path.includes('?') ? '&' : '?'
    const suffix = cursor === null ? '' : `${joiner}cursor=${encodeURIComponent(cursor)}`
    const page = await callApi(`${path}${suffix}`)
    items.push(...page.items)
    cursor = page.next
  } while (cursor !== null && items.length < maxItems)
  return items
}

/**
 * Whether the caller reads all routes and fares: an operator, or the reader of the open demo.
 * @param {{ kind: string, demo: boolean }} caller
 */
export function seesAll({ kind, demo }) {
  return kind === 'operator' || demo
}
