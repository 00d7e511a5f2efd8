/** @import { Answer } from './answers.ts' */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { callApi, ProblemError, serverNow, shown } from './session.js'

const RETRY_MS = 10_000

/**
 * What a load returned. `data` stays while it is loaded again; `error` is the last failure. `reload` ends when what it
 * loaded is shown.
 * @template T
 * @typedef {{ data: T | undefined, error: Error | undefined, reload: () => Promise<void> }} Resource
 */

/**
 * Loads data when the view opens, when an input changes, and when the page has changed something. With `everyMs` also
 * that often while the tab is visible, and when the stream brings something.
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} load
 * @param {readonly unknown[]} inputs
 * @param {{ everyMs?: number | undefined }} [options]
 * @returns {Resource<T>}
 */
export function useResource(load, inputs, { everyMs } = {}) {
  const [state, setState] = useState(
    /** @type {{ data: T | undefined, error: Error | undefined }} */ ({
      data: undefined,
      error: undefined,
    }),
  )
  const [round, setRound] = useState(0)
  const next = () => setRound((last) => last + 1)
  const { waiting, running, reload } = useReload(next)
  const seen = useRef(/** @type {readonly unknown[]} */ (inputs))
  useEffect(() => {
    const changed = inputs.some((input, i) => input !== seen.current[i])
    seen.current = inputs
    // The data of other inputs must not be shown for these.
    if (changed) setState({ data: undefined, error: undefined })
    const leaving = new AbortController()
    const { signal } = leaving
    const served = waiting.current.length
    const finish = (/** @type {Parameters<typeof setState>[0]} */ end) => {
      if (signal.aborted) return
      running.current = 0
      setState(end)
      for (const resolve of waiting.current.splice(0, served)) resolve()
      if (waiting.current.length > 0) next()
    }
    running.current = 1
    load(signal).then(
      (data) => finish({ data, error: undefined }),
      (error) => finish((last) => ({ ...last, error })),
    )
    return () => leaving.abort()
  }, [...inputs, round])
  useTimes(reload, { everyMs, error: state.error })
  return { ...state, reload }
}

/**
 * Asks for another load. One in progress ends before the next one begins. Otherwise, a slow answer would never be shown.
 * @param {() => void} next begins a load
 */
function useReload(next) {
  const waiting = useRef(/** @type {(() => void)[]} */ ([]))
  const running = useRef(0)
  const reload = useCallback(
    () =>
      new Promise((/** @type {(shown: void) => void} */ resolve) => {
        waiting.current.push(resolve)
        if (running.current === 0) next()
      }),
    [],
  )
  useEffect(
    () => () => {
      for (const resolve of waiting.current) resolve()
    },
    [],
  )
  return { waiting, running, reload }
}

/**
 * What the API answers under a path, read again every `everyMs`.
 * @template {string} Path
 * @param {Path} path
 * @param {number} [everyMs]
 * @returns {Resource<Answer<'GET', Path>>}
 */
export function useAnswer(path, everyMs) {
  return useResource((signal) => callApi(path, { signal }), [path], { everyMs })
}

/** Loads again when it is time to. @param {() => Promise<void>} reload @param {{ everyMs: number | undefined, error: Error | undefined }} why */
function useTimes(reload, { everyMs, error }) {
  useEffect(() => {
    shown.set(reload, everyMs)
    return () => void shown.delete(reload)
  }, [everyMs, reload])
  useEffect(() => {
    if (everyMs === undefined) return undefined
    const timer = setInterval(() => document.hidden || reload(), everyMs)
    return () => clearInterval(timer)
  }, [everyMs, reload])
  useEffect(() => {
    if (error === undefined || isLasting(error)) return undefined
    const timer = setTimeout(reload, RETRY_MS)
    return () => clearTimeout(timer)
  }, [error, reload])
}

/** Another attempt is only useful if the server failed, not if it refused. @param {Error} error */
function isLasting(error) {
  return error instanceof ProblemError && error.status < 500 && error.status !== 429
}

/**
 * The present instant by the server's clock, renewed every few seconds.
 * @param {number} [everyMs]
 */
export function useNow(everyMs = 5_000) {
  const [now, setNow] = useState(serverNow())
  useEffect(() => {
    const timer = setInterval(() => setNow(serverNow()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return now
}

/**
 * What is read from the address, again whenever it changes.
 * @template T
 * @param {() => T} read
 */
function useAddress(read) {
  const [value, setValue] = useState(read())
  useEffect(() => {
    const update = () => setValue(read())
    addEventListener('hashchange', update)
    return () => removeEventListener('hashchange', update)
  }, [])
  return value
}

/** The address behind `#`, as its parts: `#/watches/summer/A-1` is ['watches', 'summer', 'A-1']. */
export function useRoute() {
  return useAddress(readRoute)
}

function readRoute() {
  return (location.hash.split('?')[0] ?? '')
    .replace(/^#\/?/, '')
    .split('/')
    .filter((part) => part !== '')
    .map(decoded)
}

/**
 * The filters in the address, behind `?`, and a way to set some. An empty value removes one. Filters make no entry of
 * the browser's history.
 * @returns {[Record<string, string>, (given: Record<string, string>) => void]}
 */
export function useQuery() {
  const query = Object.fromEntries(new URLSearchParams(useAddress(readQuery)))
  const set = (/** @type {Record<string, string>} */ given) => {
    const all = Object.entries({ ...query, ...given })
    const next = new URLSearchParams(all.filter(([, value]) => value !== ''))
    location.replace(`${location.hash.split('?')[0]}${next.size === 0 ? '' : `?${next}`}`)
  }
  return [query, set]
}

/** The filters in the address as text. */
function readQuery() {
  return location.hash.split('?')[1] ?? ''
}

/** @param {string} part */
function decoded(part) {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** @param {(string | number)[]} parts */
export function linkTo(...parts) {
  return `#/${parts.map(encodeURIComponent).join('/')}`
}

/** The same with the filters of the present address. @param {(string | number)[]} parts */
export function linkWithin(...parts) {
  const query = readQuery()
  return `${linkTo(...parts)}${query && `?${query}`}`
}

/**
 * The width and height of an element, kept while it is resized.
 * @returns {[{ current: HTMLElement | null }, { width: number, height: number }]}
 */
export function useSize() {
  const ref = useRef(/** @type {HTMLElement | null} */ (null))
  const [size, setSize] = useState({ width: 0, height: 0 })
  useEffect(() => {
    const element = ref.current
    if (element === null) return undefined
    const observer = new ResizeObserver(() =>
      setSize({ width: element.clientWidth, height: element.clientHeight }),
    )
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return [ref, size]
}

/**
 * Passes on what is typed into a field or chosen in a list.
 * @param {(value: string) => void} set
 * @returns {(event: { currentTarget: { value: string } }) => void}
 */
export function typed(set) {
  return ({ currentTarget }) => set(currentTarget.value)
}
