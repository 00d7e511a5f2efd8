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
  const drag = useRef({ x: 0, y: 0, length: 0 })
  const move = (/** @type {(last: typeof view) => typeof view} */ next) => {
    setMoving(true)
    setView((last) => bounded(next(last), size))
    clearTimeout(resting.current)
    resting.current = window.setTimeout(() => setMoving(false), REST_MS)
  }
  useEffect(() => () => clearTimeout(resting.current), [])
  const zoom = (/** @type {number} */ factor, x = size.width / 2, y = size.height / 2) =>
    move((last) => {
      const k = Math.min(MAX_ZOOM, Math.max(1, last.k * factor))
      const scale = k / last.k
      return { k, x: x - (x - last.x) * scale, y: y - (y - last.y) * scale }
    })
  const buttons = {
    zoomIn: () => zoom(STEP_ZOOM),
    zoomOut: () => zoom(1 / STEP_ZOOM),
    show: (/** @type {View} */ view) => move(() => view),
  }
  const handlers = {
    tabIndex: 0,
    onWheel: (/** @type {WheelEvent & { currentTarget: Element }} */ event) => {
      event.preventDefault()
      const box = event.currentTarget.getBoundingClientRect()
      zoom(Math.exp(-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top)
    },
    onPointerDown: (/** @type {PointerEvent} */ { clientX: x, clientY: y }) => {
      drag.current = { x, y, length: 0 }
    },
    onPointerMove: (/** @type {PointerEvent} */ { clientX: x, clientY: y, buttons: pressed }) => {
      if (pressed === 0) return
      const [right, down] = [x - drag.current.x, y - drag.current.y]
      drag.current = { x, y, length: drag.current.length + Math.hypot(right, down) }
      move((last) => ({ ...last, x: last.x + right, y: last.y + down }))
    },
    onKeyDown: (/** @type {KeyboardEvent} */ event) => pressKey(event, { move, buttons }),
  }
  // A browser sends a click after a drag too.
  const wasDragged = () => drag.current.length > CLICK_PX
  return { view, handlers, buttons, moving, wasDragged }
}

const STEP_PX = 60
const STEP_ZOOM = 1.5

/** @param {KeyboardEvent} event @param {{ move: (next: (last: View) => View) => void, buttons: { zoomIn: () => void, zoomOut: () => void } }} map */
function pressKey(event, { move, buttons }) {
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
  if (event.key === '+' || event.key === '=') buttons.zoomIn()
  if (event.key === '-') buttons.zoomOut()
}

/** The world does not leave the map. @param {{ x: number, y: number, k: number }} view @param {{ width: number, height: number }} size */
function bounded({ x, y, k }, { width, height }) {
  return {
    k,
    x: Math.min(0, Math.max(width * (1 - k), x)),
    y: Math.min(0, Math.max(height * (1 - k), y)),
  }
}
