import { createContext } from 'preact'
import { useContext, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { followStream } from './event-stream.js'
import { html } from './parts.js'
import { callApi } from './session.js'

/**
 * The one stream of this tab: its state, and a way to receive its events.
 * @typedef {{
 *   state: import('./event-stream.js').StreamState,
 *   subscribe: (listener: (event: import('./event-stream.js').StreamEvent) => void) => () => void,
 * }} Live
 */

const LiveContext = createContext(
  /** @type {Live} */ ({ state: 'connecting', subscribe: () => () => undefined }),
)

/**
 * Operators follow all changes, resellers their own feed.
 * @param {{ caller: import('./session.js').Caller, children?: unknown }} props
 */
export function LiveProvider({ caller, children }) {
  const [state, setState] = useState(
    /** @type {import('./event-stream.js').StreamState} */ ('connecting'),
  )
  const listeners = useMemo(() => new Set(), [])
  const { isOperator } = caller
  useEffect(() => {
    const leaving = new AbortController()
    const { signal } = leaving
    const onEvent = (/** @type {unknown} */ event) => {
      for (const listener of listeners) listener(event)
    }
    void followStream(() => startOf(isOperator), { onEvent, onState: setState, signal })
    return () => leaving.abort()
  }, [isOperator])
  const live = useMemo(
    () => ({
      state,
      subscribe: (/** @type {unknown} */ listener) => {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
    }),
    [state],
  )
  return html`<${LiveContext.Provider} value=${live}>${children}<//>`
}

/** The feeds of operators. */
export const OPERATOR_FEEDS = /** @type {const} */ (['/route-changes', '/availability-changes'])

/** @typedef {(typeof OPERATOR_FEEDS)[number] | '/watch-changes'} Feed */

/**
 * The present ends of the feeds. Without them, what is recorded before the first id arrives would be lost with the
 * connection.
 * @param {boolean} isOperator
 */
async function startOf(isOperator) {
  if (!isOperator) return `/watch-changes/stream?after=${await headOf('/watch-changes')}`
  const [routes, fares] = await Promise.all(OPERATOR_FEEDS.map(headOf))
  return `/changes/stream?after=r${routes}.f${fares}`
}

/** @param {Feed} feed */
async function headOf(feed) {
  const { head } = await callApi(`${feed}?limit=1`)
  return head
}

/** @returns {Live} */
export function useLive() {
  return useContext(LiveContext)
}

/**
 * Calls a function for each event of the stream while the view is open.
 * @param {(event: import('./event-stream.js').StreamEvent) => void} onEvent
 * @param {readonly unknown[]} inputs
 */
export function useEvents(onEvent, inputs) {
  const { subscribe } = useLive()
  useEffect(() => subscribe(onEvent), [subscribe, ...inputs])
}

/**
 * Calls a function with the events of a burst together.
 * @param {(events: import('./event-stream.js').StreamEvent[]) => void} onBurst
 * @param {number} ms how long a burst lasts
 */
export function useBursts(onBurst, ms) {
  const waiting = useRef(/** @type {import('./event-stream.js').StreamEvent[]} */ ([]))
  useEvents(
    (event) => {
      if (waiting.current.push(event) > 1) return
      setTimeout(() => onBurst(waiting.current.splice(0)), ms)
    },
    [onBurst],
  )
}

/** Calls a function when a run has ended or was decided. @param {() => void} onRuns */
export function useRuns(onRuns) {
  useEvents(
    ({ name }) => {
      if (name === 'runs') onRuns()
    },
    [onRuns],
  )
}
