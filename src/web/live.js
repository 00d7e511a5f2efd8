import { createContext } from 'preact'
import { useContext, useEffect, useMemo, useState } from 'preact/hooks'
import { followStream } from './event-stream.js'
import { html } from './html.js'
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

/** How many earlier records the stream begins with. */
const EARLIER = 100

/**
 * Operators follow all changes, resellers their own feed.
 * @param {{ caller: { kind: string, demo: boolean }, children?: unknown }} props
 */
export function LiveProvider({ caller, children }) {
  const [state, setState] = useState(
    /** @type {import('./event-stream.js').StreamState} */ ('connecting'),
  )
  const listeners = useMemo(() => new Set(), [])
  const isOperator = caller.kind === 'operator' || caller.demo
  useEffect(() => {
    const leaving = new AbortController()
    const { signal } = leaving
    const onEvent = (/** @type {unknown} */ event) => {
      for (const listener of listeners) listener(event)
    }
    void startOf(isOperator).then((path) =>
      signal.aborted ? undefined : followStream(path, { onEvent, onState: setState, signal }),
    )
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

/** @param {boolean} isOperator */
async function startOf(isOperator) {
  if (isOperator) return '/changes/stream'
  const { head } = await callApi('/watch-changes?limit=1&after=0').catch(() => ({ head: 0 }))
  return `/watch-changes/stream?after=${Math.max(0, head - EARLIER)}`
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
