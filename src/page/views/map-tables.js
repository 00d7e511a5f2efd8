import { useEffect, useRef, useState } from 'preact/hooks'
import { onSubmit, useResource } from '../hooks.js'
import { html } from '../html.js'
import { nameOf, readPlaces } from '../map/network.js'
import { texts } from '../texts.js'
import { clockText } from '../times.js'

const ROWS = 200
const SUGGESTIONS = 20

/** Chooses a place by its code or city. @param {{ onPlace: (id: string) => void }} props */
export function PlacePicker({ onPlace }) {
  const places = useResource(readPlaces, [])
  const [text, setText] = useState('')
  const wanted = text.trim().toLowerCase()
  const all = [...(places.data?.values() ?? [])]
  const found =
    wanted === '' ? [] : all.filter((place) => nameOf(place).toLowerCase().includes(wanted))
  const type = (/** @type {{ currentTarget: HTMLInputElement }} */ event) => {
    const { value } = event.currentTarget
    const chosen = all.find((place) => nameOf(place) === value)
    setText(chosen === undefined ? value : '')
    if (chosen !== undefined) onPlace(chosen.id)
  }
  const submit = onSubmit(() => {
    const [best] = found.sort((a, b) => rank(a, wanted) - rank(b, wanted))
    if (best === undefined) return
    setText('')
    onPlace(best.id)
  })
  return html`<form class="toolbar" onSubmit=${submit}>
    <label>${texts.map.place} <input list="places" value=${text} placeholder=${texts.map.placeHint} autocomplete="off" onInput=${type} /></label>
    <datalist id="places">${found.slice(0, SUGGESTIONS).map((place) => html`<option value=${nameOf(place)}></option>`)}</datalist>
  </form>`
}

/** A code that is equal comes first. @param {import('../map/network.js').Place} place @param {string} wanted */
function rank({ iata, city }, wanted) {
  if (iata.toLowerCase() === wanted) return 0
  return city.toLowerCase().startsWith(wanted) ? 1 : 2
}

/**
 * What changed.
 * @param {{ network: import('../map/network.js').Network, at: number, onPlace: (id: string) => void }} props
 */
export function ChangesTable({ network, at, onPlace }) {
  const places = useResource(readPlaces, [])
  const shown = network.changes
    .filter((change) => change.at <= at)
    .slice(-ROWS)
    .reverse()
  const codeOf = (/** @type {string} */ id) => places.data?.get(id)?.iata || id
  return html`<div class="scroll" tabindex="0">
    <h2>${texts.map.changes}</h2>
    ${
      shown.length === 0
        ? html`<p class="muted">${texts.map.unchanged}</p>`
        : html`<table>
      <thead><tr><th>${texts.map.when}</th><th>${texts.map.route}</th><th>${texts.map.what}</th></tr></thead>
      <tbody>${shown.map(
        ({ pair: [departure, destination], added, at: changedAt }) => html`<tr>
        <td>${clockText(changedAt)}</td>
        <td><button type="button" class="plain" onClick=${() => onPlace(departure)}>${codeOf(departure)}\u00A0→\u00A0${codeOf(destination)}</button></td>
        <td>${added ? texts.map.wasAdded : texts.map.wasRemoved}</td></tr>`,
      )}</tbody></table>`
    }
  </div>`
}

/**
 * The places that a place has routes to or from.
 * @param {{ id: string, routes: import('../map/network.js').Pair[], onPlace: (id: string) => void, onClose: () => void }} props
 */
export function PlaceTable({ id, routes, onPlace, onClose }) {
  const places = useResource(readPlaces, [])
  const heading = useRef(/** @type {HTMLElement | null} */ (null))
  // The table replaces the one whose button was pressed: the focus must not be lost with that button.
  useEffect(() => {
    if (document.activeElement === document.body) heading.current?.focus()
  }, [id])
  const place = places.data?.get(id)
  const rows = partnersOf(id, routes).map((row) => ({ ...row, partner: places.data?.get(row.id) }))
  rows.sort((a, b) => (a.partner?.city ?? a.id).localeCompare(b.partner?.city ?? b.id))
  return html`<div class="scroll" tabindex="0">
    <div class="row"><h2 ref=${heading} tabindex="-1">${place ? nameOf(place) : id}</h2><button type="button" class="plain" onClick=${onClose}>${texts.close}</button></div>
    <p class="muted">${place?.country ? `${place.country}, ` : ''}${texts.map.connected(rows.length)}</p>
    <table><thead><tr><th>${texts.map.place}</th><th>${texts.map.country}</th><th>${texts.map.direction}</th></tr></thead>
    <tbody>${rows.map(
      (row) => html`<tr>
      <td><button type="button" class="plain" onClick=${() => onPlace(row.id)}>${row.partner ? nameOf(row.partner) : row.id}</button></td>
      <td>${row.partner?.country}</td><td>${texts.map.directions[row.direction]}</td></tr>`,
    )}</tbody></table>
  </div>`
}

/** @param {string} id @param {import('../map/network.js').Pair[]} routes */
function partnersOf(id, routes) {
  /** @type {Map<string, 'both' | 'out' | 'in'>} */
  const partners = new Map()
  const add = (/** @type {string} */ partner, /** @type {'out' | 'in'} */ direction) => {
    const known = partners.get(partner)
    partners.set(partner, known === undefined || known === direction ? direction : 'both')
  }
  for (const [departure, destination] of routes) {
    if (departure === id) add(destination, 'out')
    if (destination === id) add(departure, 'in')
  }
  return [...partners].map(([partner, direction]) => ({ id: partner, direction }))
}
