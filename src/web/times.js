import { useNow } from './hooks.js'
import { html } from './html.js'

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/**
 * A length of time in one or two units: "42 s", "5 min", "3 h 10 min", "2 d 4 h".
 * @param {number} seconds
 */
export function durationText(seconds) {
  const s = Math.max(0, Math.round(seconds))
  if (s < 90) return `${s} s`
  if (s < 90 * MINUTE) return `${Math.round(s / MINUTE)} min`
  if (s < 2 * DAY) return `${Math.floor(s / HOUR)} h ${Math.round((s % HOUR) / MINUTE)} min`
  return `${Math.floor(s / DAY)} d ${Math.round((s % DAY) / HOUR)} h`
}

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' })
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' })

/** @param {string | number | Date} instant */
export function exactText(instant) {
  return exact.format(new Date(instant))
}

/**
 * The time of day, with the day if it is another day than today.
 * @param {string | number | Date} instant
 */
export function clockText(instant) {
  const date = new Date(instant)
  const isToday = date.toDateString() === new Date().toDateString()
  return isToday ? clock.format(date) : `${day.format(date)}, ${clock.format(date)}`
}

/** @param {string | number | Date} instant */
export function dayText(instant) {
  return day.format(new Date(instant))
}

/**
 * How long ago an instant was, or how far ahead it is; the exact time of the reader's zone on hover.
 * @param {{ at: string | null | undefined, none?: string }} props
 */
export function Age({ at, none = '–' }) {
  const now = useNow()
  if (at === null || at === undefined) return html`<span class="muted">${none}</span>`
  const seconds = (now - Date.parse(at)) / 1000
  const text =
    Math.abs(seconds) < 3
      ? 'now'
      : seconds >= 0
        ? `${durationText(seconds)} ago`
        : `in ${durationText(-seconds)}`
  return html`<time datetime=${at} title=${exactText(at)}>${text}</time>`
}

/** @param {{ at: string }} props */
export function Clock({ at }) {
  return html`<time datetime=${at} title=${exactText(at)}>${clockText(at)}</time>`
}
