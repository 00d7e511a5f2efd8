import { useEffect, useState } from 'preact/hooks'
import { authorization, callApi, caller, ProblemError, readShown } from './session.js'

/** @typedef {'connecting' | 'live' | 'lost' | 'refused'} StreamState */

/** What arrives within this time is read together. */
const BURST_MS = 1_000
const FIRST_RETRY_MS = 1_000
const MAX_RETRY_MS = 30_000
/** The server sends something at least every 15 s. A connection that is silent for longer is dead, whatever TCP says. */
const SILENT_MS = 45_000
/** Another attempt would be refused too. */
const REFUSED = [400, 401, 403, 404]

/**
 * Follows the changes of the caller while the page is open. When something arrives, what is shown is read again: an event
 * says no more than that.
 * @returns {StreamState}
 */
export function useStream() {
  const [state, setState] = useState(/** @type {StreamState} */ ('connecting'))
  useEffect(() => {
    const leaving = new AbortController()
    void follow(setState, leaving.signal)
    return () => leaving.abort()
  }, [])
  return state
}

/** @param {(state: StreamState) => void} onState @param {AbortSignal} signal */
async function follow(onState, signal) {
  let waitMs = FIRST_RETRY_MS
  while (!signal.aborted) {
    onState('connecting')
    try {
      await readStream(await findPath(), signal, () => {
        onState('live')
        waitMs = FIRST_RETRY_MS
        readAgain()
      })
    } catch (error) {
      const { status } = /** @type {ProblemError} */ (error)
      if (REFUSED.includes(status)) return onState('refused')
    }
    onState('lost')
    await new Promise((resolve) => setTimeout(resolve, waitMs))
    waitMs = Math.min(MAX_RETRY_MS, waitMs * 2)
  }
}

/** Operators follow all changes, resellers their own feed, each from its present end. */
async function findPath() {
  if (caller.isOperator) return '/changes/stream'
  const { head } = await callApi('/watch-changes?limit=1')
  return `/watch-changes/stream?after=${head}`
}

/** Reads one connection until it ends. @param {string} path @param {AbortSignal} signal @param {() => void} onOpen */
async function readStream(path, signal, onOpen) {
  const silent = new AbortController()
  const watchdog = () => setTimeout(() => silent.abort(), SILENT_MS)
  let timer = watchdog()
  const { status, ok, body } = await fetch(`/api/v1${path}`, {
    headers: authorization(path),
    signal: AbortSignal.any([signal, silent.signal]),
  })
  if (!ok || body === null) throw new ProblemError(status, {})
  onOpen()
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { done, value } = await reader.read()
    clearTimeout(timer)
    if (done) return
    timer = watchdog()
    if (isNews(value)) readAgain()
  }
}

/** Whether some text of a stream is more than a heartbeat, however it is cut. @param {string} text */
export function isNews(text) {
  return /[^:\s]/.test(text)
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let burst

function readAgain() {
  if (burst !== undefined) return
  burst = setTimeout(() => {
    burst = undefined
    void readShown((everyMs) => everyMs !== undefined)
  }, BURST_MS)
}
