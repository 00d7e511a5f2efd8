import * as lengths from '../platform/base/text.ts'
import { useNow } from './hooks.js'
import { html } from './parts.js'
import { serverNow } from './session.js'
import { texts } from './texts.js'

/** A text of a length of time without line breaks before its units. @param {string} text */
const unbroken = (text) => text.replaceAll(/ (?=\D)/g, '\u00A0')

/** "42 s", "5 min", "3 h 10 min", "2 d 4 h". @param {number} seconds */
export const durationText = (seconds) => unbroken(lengths.durationText(1000 * seconds))

/** With tenths of a second below ten seconds. @param {number} seconds */
export const shortText = (seconds) => unbroken(lengths.shortText(seconds))

/*
 * One clock: instants are shown by the clock of this browser, in 24 hours; the footer names its zone. Only the
 * departures and arrivals of flights are local times of their places.
 */
const hours = /** @type {const} */ ({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
/** @param {Intl.DateTimeFormatOptions} options */
const formatter = (options) => new Intl.DateTimeFormat(undefined, options)
const exact = formatter({
  ...hours,
  second: '2-digit',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  timeZoneName: 'short',
})
const clock = formatter({ ...hours, second: '2-digit' })
const minute = formatter(hours)
const zone = formatter({ timeZoneName: 'longOffset' })
const day = formatter({ day: 'numeric', month: 'short' })
const dayOfYear = formatter({ dateStyle: 'medium' })

/** A time that the upstream gave is that of its place: it is shown as it is, whatever the reader's zone. */
const ofPlaceDay = formatter({
  ...hours,
  timeZone: 'UTC',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
})

/**
 * A local time of a place as text: "5 Jan 2027, 08:00".
 * @param {string} local such as 2027-01-05 08:00
 */
export function localText(local) {
  const date = new Date(`${local.replace(' ', 'T')}Z`)
  return Number.isNaN(date.getTime()) ? local : ofPlaceDay.format(date)
}

/** The zone of the clock: "Europe/Madrid, GMT+01:00". */
export function zoneText() {
  const { timeZone } = zone.resolvedOptions()
  const offset = zone.formatToParts(serverNow()).find(({ type }) => type === 'timeZoneName')?.value
  return offset === undefined || timeZone === 'UTC' ? timeZone : `${timeZone}, ${offset}`
}

/** An instant on an axis whose marks are this far apart. @param {number} ms @param {number} apartMs */
export function axisText(ms, apartMs) {
  return apartMs < 86_400_000 ? minute.format(ms) : day.format(ms)
}

/** An instant as text; the exact time of the reader's zone on hover. @param {string} at @param {string} text */
function timed(at, text) {
  return html`<time datetime=${at} title=${exact.format(new Date(at))}>${text}</time>`
}

/**
 * The time of day, with the day if it is another day than today.
 * @param {string | number | Date} instant
 */
export function clockText(instant) {
  const date = new Date(instant)
  const isToday = date.toDateString() === new Date(serverNow()).toDateString()
  return isToday ? clock.format(date) : `${dayText(date)}, ${clock.format(date)}`
}

/** @param {Date} date */
export function dayText(date) {
  const isThisYear = date.getFullYear() === new Date(serverNow()).getFullYear()
  return (isThisYear ? day : dayOfYear).format(date)
}

/**
 * How long ago an instant was, or how far ahead it is.
 * @param {{ at: string | null | undefined, none?: string, past?: string }} props `past`: the text once the instant has passed
 */
export function Age({ at, none = texts.none, past }) {
  const now = useNow()
  if (at === null || at === undefined) return html`<span class="muted">${none}</span>`
  const seconds = (now - Date.parse(at)) / 1000
  const text =
    past !== undefined && seconds >= 0
      ? past
      : Math.abs(seconds) < 3
        ? texts.time.now
        : seconds >= 0
          ? texts.time.ago(durationText(seconds))
          : texts.time.ahead(durationText(-seconds))
  return timed(at, text)
}

/** @param {{ at: string }} props */
export function Clock({ at }) {
  return timed(at, clockText(at))
}

/** @param {{ at: string }} props */
export function TimeOfDay({ at }) {
  return timed(at, clock.format(new Date(at)))
}
