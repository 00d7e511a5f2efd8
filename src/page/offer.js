import { eachText, flightText, priceText } from './describe.js'
import { html } from './html.js'
import { textOf, texts } from './texts.js'
import { vocabulary } from './vocabulary.js'

/**
 * A leg: its flight, or the one that is known of it, what is believed, and its offer.
 * @param {{ leg: any, known?: any, name: string }} props `name` stands for a flight that was never seen
 */
export function Leg({ leg, known, name }) {
  const flight = leg?.flight ?? known
  const price = leg?.price ? `, ${priceText(leg.price)}` : ''
  return html`${flightText(flight) ?? name}: ${textOf(vocabulary.beliefs, leg?.belief ?? 'unknown')}${price} <${Offer} leg=${{ ...leg, flight }} />`
}

/**
 * Who sells the flight of a leg, and what each passenger costs. An address of the upstream is a link only if it is
 * https; nothing reads it.
 * @param {{ leg: any }} props
 */
function Offer({ leg }) {
  const site = leg?.flight?.site
  const each = eachText(leg?.passengerPrices)
  if (!site && each === '') return null
  const name = site?.name ?? site?.id
  const url = site?.url ?? ''
  return html`<span class="muted">${
    site &&
    html`${texts.soldBy} ${
      url.startsWith('https://')
        ? html`<a href=${url} rel="noreferrer" target="_blank">${name ?? url}</a>`
        : html`${name} ${url}`
    }`
  }${site && each !== '' ? ', ' : ''}${each}</span>`
}
