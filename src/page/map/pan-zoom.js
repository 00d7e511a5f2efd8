import { useEffect, useRef, useState } from 'preact/hooks'

/** @typedef {import('./drawing.js').View} View */

const MAX_ZOOM = 24
const REST_MS = 140
/** A pointer that moved less was held still. */
const CLICK_PX = 4

/**
 * Panning and zooming by pointer, wheel and keyboard. `moving` is true until the map has rested for a moment.
 * @param {{ width: number, height: number }} size
 */
export function useView(size) {
  const [view, setView] = useState({ x: 0, y: 0, k: 1 })
  const [moving, setMoving] = useState(false)
  const resting = useRef(0)
  const drag = useRef(/** @type {{ x: number, y: number } | undefined} */ (undefined))
  const dragged = useRef(0)
  const move = (/** @type {(last: typeof view) => typeof view} */ next) => {
    setMoving(true)
    setView((last) => bounded(next(last), size))
    clearTimeout(resting.current)
    resting.current = window.setTimeout(() => setMoving(false), REST_MS)
  }
  useEffect(() => () => clearTimeout(resting.current), [])
  const zoom = (/** @type {number} */ factor, /** @type {number} */ x, /** @type {number} */ y) =>
    move((last) => {
      const k = Math.min(MAX_ZOOM, Math.max(1, last.k * factor))
      const scale = k / last.k
      return { k, x: x - (x - last.x) * scale, y: y - (y - last.y) * scale }
    })
  const handlers = {
    tabIndex: 0,
    onWheel: (/** @type {WheelEvent & { currentTarget: Element }} */ event) => {
      event.preventDefault()
      const box = event.currentTarget.getBoundingClientRect()
      zoom(Math.exp(-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top)
    },
    onPointerDown: (/** @type {PointerEvent} */ event) => {
      drag.current = { x: event.clientX, y: event.clientY }
      dragged.current = 0
    },
    onPointerMove: (/** @type {PointerEvent} */ event) => {
      const from = drag.current
      if (from === undefined || event.buttons === 0) return
      const { clientX, clientY } = event
      drag.current = { x: clientX, y: clientY }
      dragged.current += Math.hypot(clientX - from.x, clientY - from.y)
      move((last) => ({ ...last, x: last.x + clientX - from.x, y: last.y + clientY - from.y }))
    },
    onPointerUp: () => {
      drag.current = undefined
    },
    onKeyDown: (/** @type {KeyboardEvent} */ event) => pressKey(event, { zoom, move, size }),
  }
  // A browser sends a click after a drag too.
  const wasDragged = () => dragged.current > CLICK_PX
  return { view, handlers, buttons: buttonsOf({ zoom, move, size }), moving, wasDragged }
}

/** @param {{ zoom: (f: number, x: number, y: number) => void, move: (next: (last: View) => View) => void, size: { width: number, height: number } }} map */
function buttonsOf({ zoom, move, size: { width, height } }) {
  return {
    zoomIn: () => zoom(STEP_ZOOM, width / 2, height / 2),
    zoomOut: () => zoom(1 / STEP_ZOOM, width / 2, height / 2),
    show: (/** @type {View} */ view) => move(() => view),
  }
}

const STEP_PX = 60
const STEP_ZOOM = 1.5

/** @param {KeyboardEvent} event @param {{ zoom: (f: number, x: number, y: number) => void, move: (next: (last: View) => View) => void, size: { width: number, height: number } }} map */
function pressKey(event, { zoom, move, size }) {
  /** @type {Record<string, [number, number]>} */
  const steps = {
    ArrowLeft: [STEP_PX, 0],
    ArrowRight: [-STEP_PX, 0],
    ArrowUp: [0, STEP_PX],
    ArrowDown: [0, -STEP_PX],
  }
  const step = steps[event.key]
  if (step !== undefined) {
    event.preventDefault()
    move((last) => ({ ...last, x: last.x + step[0], y: last.y + step[1] }))
  }
  if (event.key === '+' || event.key === '=') zoom(STEP_ZOOM, size.width / 2, size.height / 2)
  if (event.key === '-') zoom(1 / STEP_ZOOM, size.width / 2, size.height / 2)
}

/** The world does not leave the map. @param {{ x: number, y: number, k: number }} view @param {{ width: number, height: number }} size */
function bounded({ x, y, k }, { width, height }) {
  return {
    k,
    x: Math.min(0, Math.max(width * (1 - k), x)),
    y: Math.min(0, Math.max(height * (1 - k), y)),
  }
}
